"""Randomness on a device: bytes of the operating system, 64-bit words, uniform integers."""

from typing import Protocol

WORD_BITS = 64
WORD_BYTES = WORD_BITS >> 3
WORDS = 1 << WORD_BITS
"""A word is below a threshold T with probability T / 2^64 exactly."""
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
    # Drawn again instead of reduced: each outcome has the same number of bit strings, so each has probability 1 / bound
    # exactly. A remainder would favour small numbers, and the proofs allow no excess at all.
    while True:
        drawn = int.from_bytes(entropy.read(length), "big") & mask
        if drawn < bound:
            return drawn
