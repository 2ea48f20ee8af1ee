"""Party estimates -> global top k."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes
from treetop.trie.seeds import NO_SEEDS, Seeds
from treetop.trie.support import Estimates, items_drawn


@dataclass(frozen=True)
class UsersOutside:
    """The users of the whole federation whose item is not in a catalogue."""

    count: float
    variance: float

    @classmethod
    def of(cls, parties: Sequence[Estimates]) -> "UsersOutside | None":
        """Add up the parties' estimates of users that no candidate stands for; None where no party counts them."""
        if not parties:
            return None
        return cls(
            float(sum(party.counts.sum() for party in parties)), float(sum(party.variances.sum() for party in parties))
        )


Source = Literal["listed", "recovered", "unknown"]


@dataclass(frozen=True)
class ReadText:
    """The text of a hash, and whether a word list named it or reports did."""

    text: bytes
    source: Source


@dataclass(frozen=True, eq=False)
class GlobalRanking(Estimates):
    """The estimates of the whole federation, the most frequent prefix first, and what is known of each."""

    parties: NDArray[np.int64]
    """How many parties uploaded each prefix; the others add nothing to its count."""
    significant: NDArray[np.bool_] | None = None
    """Whether noise alone would hardly show each prefix; None where that is not tested."""
    z: float | None = None
    """How many standard deviations that takes."""
    outside: UsersOutside | None = None
    texts: NDArray[Any] | None = None
    """With hashed names: the `ReadText` of each hash, or None where none was read; otherwise nothing."""
    entry: float | None = None
    """The least count at one party by which an item that is held nowhere else would have been among these; None: the
    count of the last one."""
    seeds: Seeds = NO_SEEDS
    """What the next week of a campaign should count again, where names are codes that stay."""

    def at(self, indices: NDArray[np.int64]) -> "GlobalRanking":
        """Return the prefixes at these indices, in this order."""
        return replace(
            self,
            prefixes=self.prefixes[indices],
            counts=self.counts[indices],
            variances=self.variances[indices],
            parties=self.parties[indices],
            significant=None if self.significant is None else self.significant[indices],
            texts=None if self.texts is None else self.texts[indices],
        )

    def of_drawn_items_at(self, parties: Iterable[tuple[Estimates, int]]) -> "GlobalRanking":
        """Return the ranking where users report some of their items only; every party's estimates and users."""
        more = dict.fromkeys(self.prefixes.tolist(), 0.0)
        for estimates, users in parties:
            drawn = items_drawn(estimates.counts, users)
            for prefix, variance in zip(estimates.prefixes.tolist(), drawn.tolist(), strict=True):
                if prefix in more:
                    more[prefix] += variance
        return replace(self, variances=self.variances + np.array(list(more.values())))

    def names_of(self, codes: Codes, show: Callable[[int], str]) -> list[tuple[str, Source | None]]:
        """Return what codes are called, and who said so: hashes by what was read here, all other codes as shown."""
        if self.texts is None:
            return [(show(code), None) for code in codes.tolist()]
        read = dict(zip(self.prefixes.tolist(), self.texts.tolist(), strict=True))
        texts = [(code, read.get(code)) for code in codes.tolist()]
        return [
            (show(code), "unknown") if text is None else (text.text.decode("utf-8", errors="replace"), text.source)
            for code, text in texts
        ]

    def top(self, k: int) -> "GlobalRanking":
        """Return the k most frequent; equal counts by the smaller prefix."""
        return self.at(np.argsort(-self.counts, kind="stable")[:k])


def summed(parties: Sequence[Estimates]) -> GlobalRanking:
    """Add up the parties' estimates of each prefix, in ascending order of prefixes."""
    everything = Estimates.joined(parties)
    prefixes, index = np.unique(everything.prefixes, return_inverse=True)
    counts, variances = (
        np.bincount(index, values, len(prefixes)).astype(np.float64)
        for values in (everything.counts, everything.variances)
    )
    return GlobalRanking(prefixes, counts, variances, np.bincount(index, minlength=len(prefixes)))
