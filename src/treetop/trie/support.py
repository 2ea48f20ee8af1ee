"""The prefixes asked about at a level, the reports that support each of them, and the estimates that follow."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes, extended, keys_of
from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import Counts, Frequencies, FrequencyOracle, Keys, Tally
from treetop.trie.quantised_counts import COUNT_BITS, QuantisedCounts, noise_deviation

MAX_CANDIDATES = 1 << 22
"""Of one level; with the dummy they are `oracles.protocol.MAX_SLOTS`, the most that a device answers about."""


@dataclass(frozen=True, eq=False)
class CandidateDomain:
    """The domain of a level: distinct prefixes of one length in ascending order, and the dummy."""

    length: int
    prefixes: Codes

    def __post_init__(self) -> None:
        if (self.prefixes[1:] <= self.prefixes[:-1]).any():
            raise InvalidInput("domain_unsorted")

    def __len__(self) -> int:
        """Return the number of candidates, the dummy not counted."""
        return len(self.prefixes)

    @classmethod
    def extending(cls, kept: Codes, from_length: int, to_length: int) -> "CandidateDomain":
        """Construct of Alg. 2: kept x {0, 1}^(l_h - l_{h-1})."""
        step = to_length - from_length
        if len(kept) << step > MAX_CANDIDATES:
            raise InvalidInput(
                "step_too_large",
                step=step,
                prefixes=len(kept),
                candidates=len(kept) << step,
                max_candidates=MAX_CANDIDATES,
            )
        return cls(to_length, extended(np.sort(kept), step))

    def without(self, pruned: Codes) -> "CandidateDomain":
        """Return the domain with the pruned prefixes left out."""
        indices = np.searchsorted(self.prefixes, pruned)
        inside = indices < len(self)
        found = indices[inside][self.prefixes[indices[inside]] == pruned[inside]]
        return CandidateDomain(self.length, np.delete(self.prefixes, found))

    def slots_of(self, values: Codes) -> Counts:
        """Return the slot of every value: its candidate's, or the dummy's."""
        slots = np.searchsorted(self.prefixes, values)
        found = self.prefixes[np.minimum(slots, len(self) - 1)] == values if len(self) else np.zeros(len(values), bool)
        return np.where(found, slots, len(self))

    def keys(self, values: Codes) -> Keys:
        """Return what devices hash for values of this length."""
        return keys_of(values)


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimated numbers of users: for every prefix an unbiased signed count, and the variance of that count."""

    prefixes: Codes
    counts: Frequencies
    variances: Frequencies
    """Infinite where the party had no report that could support the prefix."""

    def __len__(self) -> int:
        return len(self.prefixes)

    @classmethod
    def joined(cls, parts: Sequence["Estimates"]) -> "Estimates":
        """Put the estimates of different prefixes one after the other."""
        return cls(
            np.concatenate([part.prefixes for part in parts]),
            np.concatenate([part.counts for part in parts]),
            np.concatenate([part.variances for part in parts]),
        )

    def of_drawn_items(self, users: int) -> "Estimates":
        """Return the estimates of a party whose users report some of their items only: their errors are larger."""
        return Estimates(self.prefixes, self.counts, self.variances + items_drawn(self.counts, users))

    @property
    def by_prefix(self) -> dict[int, tuple[float, float]]:
        """Return count and standard error of every prefix that some report could support."""
        finite = np.isfinite(self.variances)
        errors = np.sqrt(self.variances[finite])
        pairs = zip(self.counts[finite].tolist(), errors.tolist(), strict=True)
        return dict(zip(self.prefixes[finite].tolist(), pairs, strict=True))


def items_drawn(counts: Frequencies, users: int) -> Frequencies:
    """Return the most that a user's draw of the items she reports adds to the variance of a party's counts.

    If each of n users reports an item with her own probability w, the number who do varies by sum w (1 - w). That
    is at most c (1 - c / n) for c = sum w, with equality where all w are alike; it is 0 where all w are 0 or 1.
    """
    c = np.clip(counts, 0, users)
    return c * (1 - c / users)


@dataclass(frozen=True, eq=False)
class Support:
    """How many of a party's reports support each candidate of a level.

    These whole numbers travel from the tally to the server. Frequencies, counts of users, standard errors, ranks and
    quantised uploads are derived from them where they are needed; nothing is ever turned back into support.
    """

    length: int
    """Bits of a candidate."""
    candidates: Codes
    support: Counts
    reports: int
    oracle: FrequencyOracle[Any]
    users: int
    """n_i, the users of the party, for whom the reports stand."""

    @classmethod
    def of(cls, domain: CandidateDomain, oracle: FrequencyOracle[Any], tally: Tally, users: int) -> "Support":
        """Take the candidates of a tally in their ascending order, without the dummy, which is never extended."""
        return cls(domain.length, domain.prefixes, tally.support[: len(domain)], tally.reports, oracle, users)

    def __len__(self) -> int:
        return len(self.candidates)

    def at(self, indices: slice | NDArray[np.int64]) -> "Support":
        """Return the candidates at these indices, in this order."""
        return replace(self, candidates=self.candidates[indices], support=self.support[indices])

    def ranked(self) -> "Support":
        """Return the candidates by falling support, equal ones in the order they have here.

        All are counted among the same reports and p > q, so this is the order of their estimates.
        """
        return self.at(np.argsort(-self.support, kind="stable"))

    def top(self, number: int) -> "Support":
        """Return the first ones: of ranked candidates, the most frequent."""
        return self.at(slice(number))

    def positive(self) -> "Support":
        """Return those with a positive estimate."""
        return self.at(np.flatnonzero(self.frequencies > 0))

    def of_prefixes(self, prefixes: Codes) -> "Support":
        """Return some of the candidates, which are ascending here, by falling support; none without reports."""
        asked = np.sort(prefixes) if self.reports else prefixes[:0]
        return self.at(np.searchsorted(self.candidates, asked)).ranked()

    @cached_property
    def frequencies(self) -> Frequencies:
        """Return the unbiased signed share of users for every candidate; zeros without reports."""
        return self.oracle.estimate(Tally(self.support, self.reports))

    @property
    def sigma(self) -> float:
        """Return the standard deviation of a frequency at f = 0, as Eqs. 9 and 10 use it."""
        return float(np.sqrt(self.oracle.variance(0.0, self.reports)))

    @property
    def counts(self) -> Frequencies:
        """Return c_i(x), the frequencies scaled to the party's n_i users."""
        return self.frequencies * self.users

    @property
    def deviation(self) -> float:
        """Return s_i, the standard deviation of the count of a candidate that nobody holds."""
        return noise_deviation(self.users, self.reports, self.oracle)

    @cached_property
    def estimates(self) -> Estimates:
        """Return the counts with their variances, in which the drawing of the group adds to the noise.

        Var = n^2 [Var_full(f) + f (1 - f) / r (1 - r / n)], with f clipped to [0, 1].
        """
        n = self.users
        r = self.reports
        f = np.clip(self.frequencies, 0, 1)
        noise = self.oracle.variance(f, r)
        # The r reports come from r of the n users, drawn without replacement: hence the finite population's 1 - r / n.
        drawing = f * (1 - f) / max(r, 1) * (1 - r / n)
        return Estimates(self.candidates, self.counts, n**2 * (noise + drawing))

    def quantised(self, signed: bool = False) -> QuantisedCounts:
        """Return the counts as a party sends those of a whole level."""
        return QuantisedCounts.of(self.counts, self.deviation, signed)

    @property
    def bits(self) -> int:
        """Return the cost of an upload: every candidate's own bits, and 32 for its count."""
        return len(self) * (self.length + COUNT_BITS)
