"""Random words by the array, for many devices at once: from the operating system, or from a seeded generator."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from treetop.privacy.randomness import Entropy

Words32 = NDArray[np.uint32]
Words64 = NDArray[np.uint64]


class RandomWords(ABC):
    """Where simulated devices take their randomness from."""

    @abstractmethod
    def words64(self, count: int) -> Words64:
        """Return uniform 64-bit words."""

    @abstractmethod
    def words32(self, count: int) -> Words32:
        """Return uniform 32-bit words."""

    def below(self, bound: int, count: int) -> Words32:
        """Return uniform integers below a bound of at most 2^32.

        A 32-bit word is multiplied by the bound and the high half taken; the few words that would make it uneven are
        drawn again (Lemire 2019, "Fast Random Integer Generation in an Interval").
        """
        uneven = (1 << 32) - bound * ((1 << 32) // bound)
        products = self.words32(count).astype(np.uint64)
        products *= np.uint64(bound)
        while (again := np.flatnonzero(products.astype(np.uint32) < uneven)).size:
            products[again] = self.words32(again.size).astype(np.uint64) * np.uint64(bound)
        products >>= np.uint64(32)
        return products.astype(np.uint32)


class EntropyWords(RandomWords):
    """The operating system's randomness, in arrays."""

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def words64(self, count: int) -> Words64:
        """Return fresh 64-bit words."""
        return np.frombuffer(self._entropy.read(8 * count), dtype=np.uint64)

    def words32(self, count: int) -> Words32:
        """Return fresh 32-bit words."""
        return np.frombuffer(self._entropy.read(4 * count), dtype=np.uint32)


class GeneratorWords(RandomWords):
    """A simulation's randomness: the same seed, the same words."""

    def __init__(self, randomness: Generator) -> None:
        self._randomness = randomness

    def words64(self, count: int) -> Words64:
        """Return the generator's next 64-bit words."""
        return self._randomness.integers(1 << 64, size=count, dtype=np.uint64)

    def words32(self, count: int) -> Words32:
        """Return the generator's next 32-bit words."""
        return self._randomness.integers(1 << 32, size=count, dtype=np.uint32)

    def below(self, bound: int, count: int) -> Words32:
        """Return the generator's own uniform integers, which are made in the same way and faster."""
        return self._randomness.integers(bound, size=count, dtype=np.uint32)
