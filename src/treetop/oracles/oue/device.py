"""OUE on a device: one word for each position, compared with 1/2 at the true one and with q at the others."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache, cached_property

from treetop.errors import ReportRefused
from treetop.oracles.protocol import DeviceFace, Randomness, Words
from treetop.privacy.randomness import HALF, WORD_BITS

_DIGITS = bytes.maketrans(b"\0\1", b"01")


@cache
def flip_threshold(odds: Fraction) -> int:
    """Return ceil(2^64 q) for q = 1 / (e^eps + 1), from a lower bound of e^eps."""
    # Rounded up, while the odds are rounded down: the ratio (1 - q) / q falls in q, so it stays at most e^eps (proof in
    # docs/explanation/privacy_guarantee.md, OUE). This q and p = 1/2 give unary encoding its least variance (Wang et
    # al. 2017).
    return -((-odds.denominator << WORD_BITS) // (odds.numerator + odds.denominator))


class BitsFace(DeviceFace):
    """Run by the device: OUE over d positions, the dummy counted; a report is a tuple of bits."""

    @cached_property
    def flip(self) -> int:
        """Return the threshold below which a word sets a bit that is not the true one."""
        return flip_threshold(self.odds)

    @cached_property
    def randomness(self) -> tuple[Randomness, ...]:
        """Return a word for each position."""
        return (Words(self.slots),)

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Return those of the other bits and of the true one."""
        return self.flip, HALF

    def report(self, drawn: tuple[tuple[int, ...]], value: int) -> tuple[bool, ...]:
        """Return the bits: the true one set with 1/2, the others with flip / 2^64."""
        (words,) = drawn
        bits = [word < self.flip for word in words]
        bits[value] = words[value] < HALF
        return tuple(bits)

    def supports(self, report: tuple[bool, ...], value: int) -> bool:
        """Return whether the slot's bit is set."""
        return report[value]

    @cached_property
    def width(self) -> int:
        """Return the bytes that hold d bits."""
        return (self.slots + 7) >> 3

    @cached_property
    def _padding(self) -> int:
        return (self.width << 3) - self.slots

    def encode(self, report: tuple[bool, ...]) -> bytes:
        """Run by the device: position 0 in the highest bit of the first byte; the bits left over are zero."""
        bits = int(bytes(report).translate(_DIGITS), 2)
        return (bits << self._padding).to_bytes(self.width, "big")

    def decode(self, body: bytes) -> tuple[bool, ...]:
        """Run by the party."""
        bits = int.from_bytes(body, "big")
        if bits & ((1 << self._padding) - 1):
            raise ReportRefused("padding bits", "zeros", "a one")
        return tuple(digit == "1" for digit in f"{bits >> self._padding:0{self.slots}b}")

    def readable(self, body: bytes) -> bool:
        """Run by the party for every report."""
        return not body[-1] & ((1 << self._padding) - 1)

    def task_thresholds(self) -> Mapping[str, int]:
        """Return `flip`, which is the same for every list."""
        return {"flip": self.flip}
