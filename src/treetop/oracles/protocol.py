"""What a frequency oracle is: one question to a device, with a face for the device and a face for counting.

An oracle asks "which of these d slots holds your value?", the last slot being the dummy for "none of these". The
device face needs the standard library alone; the counting face (`frequency_oracle.FrequencyOracle`) is loaded only by
those who simulate or count. To add an oracle, write these two classes and one `Oracle` that names them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from hashlib import blake2b
from importlib import import_module
from struct import unpack
from typing import TYPE_CHECKING, Any, ClassVar

from treetop.errors import InvalidInput, ReportRefused
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import WORD_BYTES, Entropy, uniform_below

if TYPE_CHECKING:
    from treetop.oracles.frequency_oracle import FrequencyOracle
    from treetop.privacy.epsilon import Epsilon

MAX_SLOTS = (1 << 22) + 1
"""Candidates of the longest list, and the dummy."""
NO_CODE_KEY = (1 << 64) - 1
"""What a device without a code hashes: the largest key."""
_LONGEST_PREFIX_BYTES = 32
_FACES_REMEMBERED = 64


@dataclass(frozen=True)
class Words:
    """Uniform 64-bit words, each to be compared with thresholds."""

    count: int = 1

    def read(self, entropy: Entropy) -> tuple[int, ...]:
        """Run by the device: read them at once."""
        return unpack(f">{self.count}Q", entropy.read(WORD_BYTES * self.count))


@dataclass(frozen=True)
class Below:
    """A uniform integer below a bound."""

    bound: int

    def read(self, entropy: Entropy) -> int:
        """Run by the device: draw again while it is too large."""
        return uniform_below(self.bound, entropy)


@dataclass(frozen=True)
class Seed:
    """Random bytes that a report carries, or that choose what it speaks of: proof and audit hold for each of them."""

    length: int

    def read(self, entropy: Entropy) -> int:
        """Run by the device: an integer of that length."""
        return int.from_bytes(entropy.read(self.length), "big")


Randomness = Words | Below | Seed


@dataclass(frozen=True, slots=True, repr=False)
class Draw:
    """All randomness of one report, taken before the value is looked at."""

    face: "DeviceFace"
    drawn: tuple[Any, ...]

    def report(self, value: Any) -> Any:
        """Return the report of a value: a plain function of draw and value."""
        return self.face.report(self.drawn, value)


class DeviceFace(ABC):
    """Run by the device: an oracle over d slots, the dummy counted, or over as many buckets as its budget gives.

    What is random comes first and is declared (`randomness`), so how many bytes are read cannot depend on the value;
    `report` is a function. The audit enumerates both: it believes no claim of the class but `thresholds`, which it
    checks at both ends of every interval.
    """

    slots: int

    def __init__(self, odds: Fraction, slots: int) -> None:
        if not 2 <= slots <= MAX_SLOTS:
            raise InvalidInput("slots_out_of_range", max_slots=MAX_SLOTS, slots=slots)
        self.odds = odds
        self.slots = slots

    @cached_property
    @abstractmethod
    def randomness(self) -> tuple[Randomness, ...]:
        """Return all that a report draws, in the order it is read."""

    @cached_property
    @abstractmethod
    def thresholds(self) -> tuple[int, ...]:
        """Return the integers that words are compared with, ascending; rounded so that no ratio exceeds e^epsilon."""

    @abstractmethod
    def report(self, drawn: tuple[Any, ...], value: Any) -> Any:
        """Return the report of a value: a slot of the published list, or the key of what a device holds, or a set."""

    @abstractmethod
    def supports(self, report: Any, value: int) -> bool:
        """Return whether a report counts for a value: what the party adds up, for one report."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Return the bytes of a report: the same for every value."""

    @abstractmethod
    def encode(self, report: Any) -> bytes:
        """Run by the device: write a report as bytes."""

    @abstractmethod
    def decode(self, body: bytes) -> Any:
        """Run by the party: read a body of the right width, or raise `ReportRefused`."""

    def draw(self, entropy: Entropy) -> Draw:
        """Run by the device: take the randomness of one report."""
        # Before the value is read: how much is drawn cannot depend on it (privacy_guarantee.md, "Order").
        return Draw(self, tuple(need.read(entropy) for need in self.randomness))

    def checked(self, body: bytes) -> Any:
        """Run by the party: read a report, or refuse what no device writes."""
        if len(body) != self.width:
            raise ReportRefused("bytes of a body", self.width, len(body))
        return self.decode(body)

    def readable(self, body: bytes) -> bool:
        """Run by the party for every report: whether a body of the right width can be read."""
        try:
            self.decode(body)
        except ReportRefused:
            return False
        return True

    def list_thresholds(self) -> Mapping[str, int]:
        """Return the integers that a published list must carry, because they depend on its length."""
        return {}

    def task_thresholds(self) -> Mapping[str, int]:
        """Return the integers that a task must carry."""
        return {}


class Oracle(ABC):
    """A frequency oracle as everybody names it; registered under `treetop.oracles`."""

    name: ClassVar[str]
    tag: ClassVar[int]
    """Its number in the envelope of a batch, from 1 to 255: 1 to 63 are Treetop's own."""
    listed: ClassVar[bool]
    """Whether a device answers with a slot of a published list; otherwise it hashes the key of its value."""
    device_face: ClassVar[type[DeviceFace]]
    counting_face: ClassVar[str]
    """`module:class` of its `FrequencyOracle`, loaded where somebody simulates or counts."""
    max_slots: ClassVar[int] = MAX_SLOTS

    @property
    def slots_rule(self) -> str:
        """Return in words which numbers of slots its reports may have."""
        return f"from 2 to {self.max_slots}"

    def has_slots(self, slots: int) -> bool:
        """Return whether its reports may have that number of slots, the one in their envelope."""
        return 2 <= slots <= self.max_slots

    def slots_for(self, odds: Fraction) -> int:
        """Return the number in the envelope where the budget alone decides it: the buckets of a hash."""
        raise AssertionError(f"{self.name} has as many slots as its list at any odds, {odds} included")

    def device(self, budget: Budget, slots: int | None = None) -> DeviceFace:
        """Return the device's face for a list of d slots, or for no list."""
        odds = budget.odds_below
        return _device_face(self.device_face, odds, self.slots_for(odds) if slots is None else slots)

    def form(self, slots: int) -> DeviceFace:
        """Return a face to write and read reports with: their form does not depend on the budget."""
        return _device_face(self.device_face, Fraction(1), slots)

    @property
    def counting(self) -> "type[FrequencyOracle[Any]]":
        """Return the class that simulates and counts."""
        module, _, name = self.counting_face.partition(":")
        found: type[FrequencyOracle[Any]] = getattr(import_module(module), name)
        return found

    def over(self, epsilon: "Epsilon", size: int) -> "FrequencyOracle[Any]":
        """Return the counting face for d slots, the dummy counted."""
        return self.counting(epsilon, size)

    def audited_sizes(self, quick: bool) -> Sequence[int]:  # noqa: ARG002  few sizes take no time
        """Return the d for which the audit enumerates all outputs."""
        return range(2, 9)

    def __repr__(self) -> str:
        return f"<oracle {self.name}>"

    def __str__(self) -> str:
        return self.name

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other)

    def __hash__(self) -> int:
        return hash(type(self))


@lru_cache(_FACES_REMEMBERED)
def _device_face(face: type[DeviceFace], odds: Fraction, slots: int) -> DeviceFace:
    return face(odds, slots)


def smallest_width(numbers: int) -> int:
    """Return 1, 2 or 4: the bytes that hold every integer below a number."""
    return 1 if numbers <= 1 << 8 else 2 if numbers <= 1 << 16 else 4


def number_below(bound: int, what: str, body: bytes) -> int:
    """Run by the party: a big-endian number, or a refusal."""
    number = int.from_bytes(body, "big")
    if number >= bound:
        raise ReportRefused(what, f"below {bound}", number)
    return number


def key_of(prefix: int | None) -> int:
    """Return the 64-bit key of a prefix: itself, or a digest where it is longer; one for all without a code."""
    if prefix is None:
        return NO_CODE_KEY
    if prefix <= NO_CODE_KEY:
        return prefix
    digest = blake2b(prefix.to_bytes(_LONGEST_PREFIX_BYTES, "big"), digest_size=8).digest()
    return int.from_bytes(digest, "big")
