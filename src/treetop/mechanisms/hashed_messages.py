"""What server and parties say to each other about hashed names, beyond what Canopy says."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes
from treetop.mechanisms.requests import Findings
from treetop.trie.global_ranking import CountedPrefixes
from treetop.trie.quantised_counts import QuantisedCounts


@dataclass(frozen=True, eq=False)
class TextsWanted:
    """Server to every party: hashes whose texts are counted, and those of them that are on no list."""

    hashes: Codes
    unread: Codes
    """The chunk counts of these are sent."""


@dataclass(frozen=True, eq=False)
class ChunkCounts:
    """Party to server: for every chunk the counts of all its values behind each unread hash."""

    chunks: tuple[QuantisedCounts, ...]

    @property
    def bits(self) -> int:
        """Return the bits of all that is sent."""
        return sum(chunk.bits for chunk in self.chunks)


@dataclass(frozen=True, eq=False)
class NamesWanted:
    """Server to every party: hashes whose signed counts are wanted, and the chunks of those that have a text."""

    hashes: Codes
    read: Codes
    """The hashes with a text, ascending."""
    chunks: NDArray[np.uint8]
    """One row for each of these."""


@dataclass(frozen=True)
class NamedFindings(Findings):
    """A party's last upload: its counts of the hashes, and apart from them those of the texts."""

    texts: CountedPrefixes | None = None
    """Counts by the text reports alone, of the hashes with a text."""

    @property
    def bits(self) -> int:
        """Return the bits of all that is sent."""
        return super().bits + (0 if self.texts is None else self.texts.bits)
