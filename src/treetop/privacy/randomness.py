"""Randomness on a device: bytes of the operating system, 64-bit words, uniform integers."""

from typing import Protocol

WORD_BITS = 64
WORD_BYTES = WORD_BITS >> 3
WORDS = 1 << WORD_BITS
HALF = WORDS >> 1


class Entropy(Protocol):
    """Randomness that nobody can predict or replay: the operating system's, never a seeded generator."""

    def read(self, count: int) -> bytes:
        """Return that many fresh random bytes."""
        ...


def uniform_below(bound: int, entropy: Entropy) -> int:
    """Return a uniform integer below a bound: as many bits as it needs, drawn again while they are too large."""
    bits = (bound - 1).bit_length()
    length = (bits + 7) >> 3
    mask = (1 << bits) - 1
    while True:
        drawn = int.from_bytes(entropy.read(length), "big") & mask
        if drawn < bound:
            return drawn
