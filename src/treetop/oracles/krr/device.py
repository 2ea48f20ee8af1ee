"""k-RR on a device: one word decides whether the report is true, the lie is drawn in any case."""

from collections.abc import Mapping
from fractions import Fraction
from functools import cache, cached_property

from treetop.oracles.protocol import Below, DeviceFace, Randomness, Words, number_below, smallest_width
from treetop.privacy.randomness import WORD_BITS


@cache
def keep_threshold(odds: Fraction, slots: int) -> int:
    """Return floor(2^64 p) for p = e^eps / (d - 1 + e^eps), from a lower bound of e^eps."""
    # Eq. 2 of the paper. Rounded down, like the odds: p / q = t (d - 1) / (1 - t) rises in t, so it stays at most e^eps
    # (proof in docs/explanation/privacy_guarantee.md, k-RR).
    return (odds.numerator << WORD_BITS) // ((slots - 1) * odds.denominator + odds.numerator)


class SlotFace(DeviceFace):
    """Run by the device: k-RR over d slots, the dummy counted; a report is a slot."""

    @cached_property
    def keep(self) -> int:
        """Return the threshold below which a word keeps the true slot."""
        return keep_threshold(self.odds, self.slots)

    @cached_property
    def randomness(self) -> tuple[Randomness, ...]:
        """Return the word, and which of the d - 1 other slots a lie names, counted without the true one."""
        return Words(), Below(self.slots - 1)

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """Return the one that keeps."""
        return (self.keep,)

    def report(self, drawn: tuple[tuple[int], int], value: int) -> int:
        """Return the reported slot."""
        (word,), other = drawn
        # The lie is one of the d - 1 others, numbered without the true slot: numbers from there on move up by one.
        return value if word < self.keep else other + (other >= value)

    def supports(self, report: int, value: int) -> bool:
        """Return whether it is the slot."""
        return report == value

    @cached_property
    def width(self) -> int:
        """Return the smallest width that holds every slot."""
        return smallest_width(self.slots)

    def encode(self, report: int) -> bytes:
        """Run by the device: the slot, big-endian."""
        return report.to_bytes(self.width, "big")

    def decode(self, body: bytes) -> int:
        """Run by the party."""
        return number_below(self.slots, "slot", body)

    def readable(self, body: bytes) -> bool:
        """Run by the party for every report."""
        return int.from_bytes(body, "big") < self.slots

    def list_thresholds(self) -> Mapping[str, int]:
        """Return `keep`, which depends on d."""
        return {"keep": self.keep}
