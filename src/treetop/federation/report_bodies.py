"""One report as bytes: every body of a batch has the same length, whatever the value."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from treetop.errors import ReportRefused
from treetop.federation.samplers import SEED_BYTES, HashedReport
from treetop.federation.task import OracleName

_DIGITS = bytes.maketrans(b"\0\1", b"01")


def smallest_width(numbers: int) -> int:
    """Return 1, 2 or 4: the bytes that hold every integer below a number."""
    return 1 if numbers <= 1 << 8 else 2 if numbers <= 1 << 16 else 4


class ReportBody(ABC):
    """How a report of one oracle over d slots, or d' buckets, is written."""

    oracle: ClassVar[OracleName]
    tag: ClassVar[int]

    def __init__(self, slots: int) -> None:
        self.slots = slots

    @property
    @abstractmethod
    def width(self) -> int:
        """Return the bytes of one body."""

    @abstractmethod
    def encode(self, report: Any) -> bytes:
        """Run by the device: write a report."""

    @abstractmethod
    def _decoded(self, body: bytes) -> Any:
        """Read a body of the right length, or refuse it."""

    def decode(self, body: bytes) -> Any:
        """Run by the party: read a report, or refuse what no device writes."""
        if len(body) != self.width:
            raise ReportRefused("bytes of a body", self.width, len(body))
        return self._decoded(body)

    def _number_below_slots(self, body: bytes, what: str) -> int:
        number = int.from_bytes(body, "big")
        if number >= self.slots:
            raise ReportRefused(what, f"below {self.slots}", number)
        return number


class SlotBody(ReportBody):
    """k-RR: the reported slot, big-endian."""

    oracle, tag = "krr", 1

    @property
    def width(self) -> int:
        """Return the smallest width that holds every slot."""
        return smallest_width(self.slots)

    def encode(self, report: int) -> bytes:
        """Run by the device."""
        return report.to_bytes(self.width, "big")

    def _decoded(self, body: bytes) -> int:
        return self._number_below_slots(body, "slot")


class BitsBody(ReportBody):
    """OUE: packed bits, position 0 in the highest bit of the first byte; the bits left over are zero."""

    oracle, tag = "oue", 2

    @property
    def width(self) -> int:
        """Return the bytes that hold d bits."""
        return (self.slots + 7) >> 3

    @property
    def _padding(self) -> int:
        return (self.width << 3) - self.slots

    def encode(self, report: tuple[bool, ...]) -> bytes:
        """Run by the device."""
        bits = int(bytes(report).translate(_DIGITS), 2)
        return (bits << self._padding).to_bytes(self.width, "big")

    def _decoded(self, body: bytes) -> tuple[bool, ...]:
        bits = int.from_bytes(body, "big")
        if bits & ((1 << self._padding) - 1):
            raise ReportRefused("padding bits", "zeros", "a one")
        return tuple(digit == "1" for digit in f"{bits >> self._padding:0{self.slots}b}")


class HashedBody(ReportBody):
    """OLH: the 4-byte seed, then the bucket, both big-endian."""

    oracle, tag = "olh", 3

    @property
    def width(self) -> int:
        """Return 5 or 6."""
        return SEED_BYTES + smallest_width(self.slots)

    def encode(self, report: HashedReport) -> bytes:
        """Run by the device."""
        bucket_bytes = self.width - SEED_BYTES
        return report.seed.to_bytes(SEED_BYTES, "big") + report.bucket.to_bytes(bucket_bytes, "big")

    def _decoded(self, body: bytes) -> HashedReport:
        seed, bucket = body[:SEED_BYTES], body[SEED_BYTES:]
        return HashedReport(int.from_bytes(seed, "big"), self._number_below_slots(bucket, "bucket"))


BODIES: dict[OracleName, type[ReportBody]] = {body.oracle: body for body in (SlotBody, BitsBody, HashedBody)}
