"""Which candidates other parties' findings rule out (section 6.2 of the paper).

Party i-1 names its 2k least and its 2k most frequent prefixes of a level; party i asks two small sets of its own
users about them and prunes only what both agree on.
"""

from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.oracles.frequency_oracle import Frequencies
from treetop.trie.quantised_counts import COUNT_BITS
from treetop.trie.support import CandidateDomain, Support

TAU = 1e-11
"""Keeps the contrast of Eq. 14 finite where a validated frequency is 0."""


@dataclass(frozen=True, eq=False)
class PruningCandidates:
    """Delta_h of Eq. 11: what one party sends the next about level h."""

    length: int
    infrequent: Codes
    """Delta_{h,0}: the 2k least frequent, the least frequent one first."""
    frequent: Codes
    """Delta_{h,1}: the 2k most frequent, the most frequent one first."""
    frequencies: Frequencies
    """Of the frequent ones, in the same order."""

    @classmethod
    def of(cls, ranked: Support, k: int) -> "PruningCandidates":
        """Take both ends of the whole estimated domain of a level."""
        infrequent = ranked.candidates[::-1][: 2 * k]
        return cls(ranked.length, infrequent, ranked.candidates[: 2 * k], ranked.frequencies[: 2 * k])

    @property
    def bits(self) -> int:
        """Return what sending them costs: prefixes of both lists and 32 bits for each frequency."""
        return (len(self.infrequent) + len(self.frequent)) * self.length + len(self.frequent) * COUNT_BITS


def ascending(ranked: Support) -> Codes:
    """Return the validated prefixes by rising frequency: Delta^_{h,0} or Delta^_{h,1}."""
    return ranked.candidates[::-1]


def by_contrast(received: PruningCandidates, validated: Support) -> Codes:
    """Return Delta^_{h,c} of Eq. 14: by falling contrast phi = f_received / (f_validated + tau).

    Both estimates are clipped at 0 before tau is added; equal contrasts by the smaller prefix.
    """
    own = dict(zip(validated.candidates.tolist(), np.maximum(validated.frequencies, 0), strict=True))
    f_validated = np.array([own[prefix] for prefix in received.frequent.tolist()])
    phi = np.maximum(received.frequencies, 0) / (f_validated + TAU)
    by_prefix = np.argsort(received.frequent, kind="stable")
    return received.frequent[by_prefix][np.argsort(-phi[by_prefix], kind="stable")]


def consensus(first: Codes, second: Codes, k: int, epsilon: float, gamma: float) -> Codes:
    """Return first[:k'] intersected with second[:k'] for the k' of Eq. 12; the smallest k' on a tie.

    The score is  |intersection| / (k' (1 + eps)^k')  -  gamma alpha^2,  alpha = (k' - |intersection| + 1) / (k' + 1).
    """
    enters = entering_indices(first, second)[:k]
    common = intersection_sizes(enters)

    def score(k_prime: int) -> float:
        alpha = (k_prime - common[k_prime - 1] + 1) / (k_prime + 1)
        return common[k_prime - 1] / (k_prime * (1 + epsilon) ** k_prime) - gamma * alpha**2

    best = max(range(1, len(enters) + 1), key=score)
    return np.sort(first[[index for index, enter in enumerate(enters) if enter < best]])


def entering_indices(first: Codes, second: Codes) -> list[int]:
    """Return for each prefix of the first list how long both lists' heads must grow to contain it, less one."""
    rank = {prefix: index for index, prefix in enumerate(second.tolist())}
    return [max(index, rank[prefix]) for index, prefix in enumerate(first.tolist())]


def intersection_sizes(enters: list[int]) -> list[int]:
    """Return |first[:k'] intersected with second[:k']| for k' = 1 .. the length of the lists."""
    new = [0] * len(enters)
    for enter in enters:
        if enter < len(enters):
            new[enter] += 1
    return list(accumulate(new))


def pruned_domain(
    domain: CandidateDomain, infrequent: Codes, contrasting: Codes, least: int
) -> tuple[CandidateDomain, bool]:
    """Return Lambda_h without the pruning set, and whether it was pruned.

    A domain left with fewer than d_min candidates is not pruned at all.
    """
    remaining = domain.without(np.concatenate([infrequent, contrasting]))
    return (remaining, True) if len(remaining) >= least else (domain, False)
