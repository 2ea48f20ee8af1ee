"""What a party knows of a level once its reports are counted, and party estimates -> global top k."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes
from treetop.oracles.frequency_oracle import Frequencies, FrequencyOracle, Tally
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.seeds import NO_SEEDS, Seeds


@dataclass(frozen=True, eq=False)
class LevelEstimates:
    """The candidates of a level in falling order of estimated frequency; equal ones by the smaller prefix."""

    length: int
    prefixes: Codes
    frequencies: Frequencies
    reports: int
    oracle: FrequencyOracle[Any]

    @classmethod
    def of(cls, domain: CandidateDomain, oracle: FrequencyOracle[Any], tally: Tally) -> "LevelEstimates":
        """Estimate every candidate; the dummy is estimated with them but never extended or reported."""
        frequencies = oracle.estimate(tally)[: len(domain)]
        order = np.argsort(-frequencies, kind="stable")
        return cls(domain.length, domain.prefixes[order], frequencies[order], tally.reports, oracle)

    def __len__(self) -> int:
        return len(self.prefixes)

    @property
    def sigma(self) -> float:
        """Return the standard deviation of an estimate at f = 0, as Eqs. 9 and 10 use it."""
        return float(np.sqrt(self.oracle.variance(0.0, self.reports)))

    def top(self, number: int) -> "LevelEstimates":
        """Return the most frequent ones."""
        return self._at(slice(number))

    def positive(self) -> "LevelEstimates":
        """Return those with a positive estimate."""
        return self._at(slice(int(np.count_nonzero(self.frequencies > 0))))

    def _at(self, places: slice) -> "LevelEstimates":
        prefixes, frequencies = self.prefixes[places], self.frequencies[places]
        return LevelEstimates(self.length, prefixes, frequencies, self.reports, self.oracle)


COUNT_BITS = 32


def items_drawn(counts: Frequencies, users: int) -> Frequencies:
    """Return how much it adds to the variance of a party's counts, at most, that a user draws which items she reports.

    If each of n users speaks of an item by a chance w of her own, as many as do vary by sum w (1 - w), which is at most
    c (1 - c / n) for c = sum w. It is that where all chances are alike, and nothing where all are 0 or 1.
    """
    c = np.clip(counts, 0, users)
    return c * (1 - c / users)


@dataclass(frozen=True, eq=False)
class CountedPrefixes:
    """Prefixes that a party uploads, each with its estimated number of users."""

    length: int
    prefixes: Codes
    counts: Frequencies
    variances: Frequencies
    reports: int
    domain: int
    """Slots of the domain that they were estimated in: with `reports`, all that their error depends on."""
    asked_for: bool = False
    """Whether the server named the prefixes, so that the counts alone are sent."""

    @classmethod
    def of(cls, estimates: LevelEstimates, users: int, asked_for: bool = False) -> "CountedPrefixes":
        """Scale frequencies to the party's users; the variance adds the drawing of the group to the noise.

        Var = n^2 [Var_full(f) + f (1 - f) / r (1 - r / n)], with f clipped to [0, 1].
        """
        n, r = users, estimates.reports
        f = np.clip(estimates.frequencies, 0, 1)
        noise = estimates.oracle.variance(f, r)
        drawing = f * (1 - f) / max(r, 1) * (1 - r / n)
        counts, variances = estimates.frequencies * n, n**2 * (noise + drawing)
        return cls(estimates.length, estimates.prefixes, counts, variances, r, estimates.oracle.size, asked_for)

    def __len__(self) -> int:
        return len(self.prefixes)

    def of_drawn_items(self, users: int) -> "CountedPrefixes":
        """Return the counts with the errors that they have where users report some of their items only."""
        return replace(self, variances=self.variances + items_drawn(self.counts, users))

    @property
    def named(self) -> dict[int, tuple[float, float]]:
        """Return count and standard error of every prefix that any report spoke of."""
        spoken = np.isfinite(self.variances)
        found = zip(self.counts[spoken].tolist(), np.sqrt(self.variances[spoken]).tolist(), strict=True)
        return dict(zip(self.prefixes[spoken].tolist(), found, strict=True))

    @property
    def bits(self) -> int:
        """Return what sending them costs: their own bits, unless the server named them, and 32 for each count."""
        return len(self) * ((0 if self.asked_for else self.length) + COUNT_BITS)


@dataclass(frozen=True)
class UsersOutside:
    """The users of the whole federation whose item is not in a catalogue."""

    count: float
    variance: float


Source = Literal["listed", "recovered", "unknown"]


@dataclass(frozen=True)
class ReadText:
    """The text of a hash, and whether a word list named it or reports did."""

    text: bytes
    source: Source


@dataclass(frozen=True, eq=False)
class GlobalRanking:
    """Prefixes of the whole federation, the most frequent one first."""

    prefixes: Codes
    counts: Frequencies
    variances: Frequencies
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

    def __len__(self) -> int:
        return len(self.prefixes)

    def at(self, places: NDArray[np.int64]) -> "GlobalRanking":
        """Return the prefixes at these places, in this order."""
        return replace(
            self,
            prefixes=self.prefixes[places],
            counts=self.counts[places],
            variances=self.variances[places],
            parties=self.parties[places],
            significant=None if self.significant is None else self.significant[places],
            texts=None if self.texts is None else self.texts[places],
        )

    def of_drawn_items(self, counted: Iterable[tuple[CountedPrefixes, int]]) -> "GlobalRanking":
        """Return the ranking with the errors it has where users report some of their items; every party's users."""
        more = dict.fromkeys(self.prefixes.tolist(), 0.0)
        for upload, users in counted:
            for prefix, drawn in zip(upload.prefixes.tolist(), items_drawn(upload.counts, users).tolist(), strict=True):
                if prefix in more:
                    more[prefix] += drawn
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


def summed(uploads: Sequence[CountedPrefixes]) -> GlobalRanking:
    """Add up what the parties sent for each prefix, in ascending order of prefixes."""
    everything = np.concatenate([upload.prefixes for upload in uploads])
    prefixes, place = np.unique(everything, return_inverse=True)
    counts = _added_up(place, [upload.counts for upload in uploads], len(prefixes))
    variances = _added_up(place, [upload.variances for upload in uploads], len(prefixes))
    return GlobalRanking(prefixes, counts, variances, np.bincount(place, minlength=len(prefixes)))


def _added_up(place: NDArray[np.int64], values: list[Frequencies], length: int) -> Frequencies:
    return np.bincount(place, np.concatenate(values), length).astype(np.float64)
