"""The closing round of hashed names: whole-hash reports and text reports together."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.mechanisms.hashed_messages import NamedFindings
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.roster import Roster
from treetop.mechanisms.summed_level import noise_scores
from treetop.mechanisms.text_reading import Texts
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.tallies import Frequencies
from treetop.trie.global_ranking import CountedPrefixes, GlobalRanking, summed
from treetop.trie.lower_confidence import scored
from treetop.trie.significance import significant, threshold


@dataclass(frozen=True, eq=False)
class PooledCounts:
    """One party's counts by all reports that name each hash, in ascending order of hashes."""

    counted: CountedPrefixes
    noise: Frequencies
    """Variance of the count of a hash that nobody holds."""

    @classmethod
    def of(cls, found: NamedFindings, users: int, oracle: FrequencyOracle[Any]) -> "PooledCounts":
        """Weigh both counts of a read text by their reports; a hash without a text has one count only."""
        whole = found.heavy_hitters
        order = np.argsort(whole.prefixes)
        counts, variances = whole.counts[order], whole.variances[order]
        reports = np.full(len(counts), whole.reports, dtype=np.float64)
        if found.texts is not None and len(found.texts):
            texts, r, t = found.texts, whole.reports, found.texts.reports
            read = np.searchsorted(whole.prefixes[order], texts.prefixes)
            counts[read] = (r * counts[read] + t * texts.counts) / (r + t)
            variances[read] = (r**2 * variances[read] + t**2 * texts.variances) / (r + t) ** 2
            reports[read] = r + t
        counted = replace(whole, prefixes=whole.prefixes[order], counts=counts, variances=variances)
        return cls(counted, users**2 * oracle.variance(0.0, 1) / reports)


def named_ranking(
    parameters: Parameters,
    roster: Roster,
    findings: Mapping[str, NamedFindings],
    read: Texts,
    candidates: int,
    *,
    zeta: float,
) -> GlobalRanking:
    """Run by the server: the k best items, those without a name only where noise would hardly show them.

    Counts pool all reports that name an item; whether it stands out is tested on the reports of the whole hash alone,
    whose candidates are known. A hash without a text that does not stand out gives way to any item with a name.
    """
    oracle = parameters.oracle_for(candidates)
    sizes = {member.name: member.users for member in roster.members}
    present = {name: found for name, found in findings.items() if found.heavy_hitters.reports}
    if not present:
        return replace(summed([found.heavy_hitters for found in findings.values()]), texts=np.empty(0, dtype=object))
    pooled = [PooledCounts.of(found, sizes[name], oracle) for name, found in present.items()]
    ranking = summed([party.counted for party in pooled])
    noise = noise_scores([found.heavy_hitters for found in present.values()], [sizes[name] for name in present], oracle)
    plain_sum = parameters.score == "sum"
    z = threshold(len(present), candidates, plain_sum)
    marks = significant(noise, z, plain_sum)
    texts = texts_of(ranking, read)
    order = by_score(pooled, texts, marks, zeta, parameters)
    return replace(ranking, significant=marks, z=z, texts=texts).at(order[: parameters.k]).top(parameters.k)


def texts_of(ranking: GlobalRanking, read: Texts) -> NDArray[Any]:
    """Return the text of every hash of a ranking, or None."""
    texts = np.empty(len(ranking), dtype=object)
    texts[:] = [read.get(code) for code in ranking.prefixes.tolist()]
    return texts


def by_score(
    pooled: list[PooledCounts], texts: NDArray[Any], marks: NDArray[np.bool_], zeta: float, parameters: Parameters
) -> NDArray[np.int64]:
    """Return the places of the hashes, the best lower bound first; doubtful ones without a name come last."""
    counts = np.array([party.counted.counts for party in pooled]).T
    noise = np.array([party.noise for party in pooled]).T
    scores = np.array(
        [
            scored(row[None], variances, zeta, parameters.score).scores[0]
            for row, variances in zip(counts, noise, strict=True)
        ]
    )
    doubtful = np.array([text is None for text in texts]) & ~marks
    return np.lexsort((-scores, doubtful))
