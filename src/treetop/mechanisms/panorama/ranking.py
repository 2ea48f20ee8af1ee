"""Run by the server: what the parties' counts say together, and the k best names."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.mechanisms.dialogue import Roster
from treetop.mechanisms.panorama.plan import PanoramaParameters
from treetop.mechanisms.panorama.texts import Texts
from treetop.mechanisms.wire.panorama import NameFindings
from treetop.oracles.frequency_oracle import Frequencies, FrequencyOracle
from treetop.trie.global_ranking import GlobalRanking, UsersOutside
from treetop.trie.lower_confidence import ScoreRule, entry_count, scored
from treetop.trie.quantised_counts import QuantisedCounts, noise_deviation
from treetop.trie.significance import NoiseScores, significant, threshold

ZETA = NormalDist().inv_cdf(1 - 2.0**-8)


@dataclass(frozen=True, eq=False)
class ClosingRound:
    """The names whose signed counts were asked for."""

    names: Codes
    read: int
    """So many of them, the first ones, were counted by all reports."""
    texts: Texts | None
    """Where names are hashes, the texts that were read."""
    candidates: int
    """Names that could have been shown."""


@dataclass(frozen=True, eq=False)
class Reporting:
    """The parties that have reports, and how many of every kind."""

    roster: Roster
    oracle: FrequencyOracle[Any]
    kinds: Mapping[str, tuple[int, ...]]

    def users(self, party: str) -> int:
        """Return n_i."""
        return next(member.users for member in self.roster.members if member.name == party)

    def reports(self, party: str, *, read: bool) -> int:
        """Return the reports that count for names whose text is known: all; or else those of whole names."""
        return sum(self.kinds[party]) if read else self.kinds[party][0]

    def deviation(self, party: str, *, read: bool) -> float:
        """Return s_i of such names."""
        return noise_deviation(self.users(party), self.reports(party, read=read), self.oracle)

    def table(self, sent: Mapping[str, QuantisedCounts]) -> tuple[list[str], Frequencies, Frequencies]:
        """Return the parties whose counts are there, the counts (names x parties), and the parties' variances."""
        present = [party for party in sent if party in self.kinds and not sent[party].missing]
        variances = np.array([sent[party].variance for party in present])
        if not present:
            return present, np.empty((0, 0)), variances
        return present, np.stack([sent[party].counts for party in present], axis=1), variances

    def ranked(
        self, parameters: PanoramaParameters, asked: ClosingRound, findings: Mapping[str, NameFindings]
    ) -> GlobalRanking:
        """Return the k best names; a hash without a text gives way to any other unless noise would hardly show it."""
        names, texts = asked.names, asked.texts
        parties = [party for party in findings if party in self.kinds]
        rule = parameters.rule(len(self.roster.members))
        sent = [findings[party] for party in parties]
        counts = np.zeros((len(names), len(parties)))
        variances = np.zeros(len(names))
        for index, estimates in enumerate(found.estimates for found in sent):
            counts[:, index] = estimates.counts
            # Infinite for a kind without reports.
            variances += np.where(np.isfinite(estimates.variances), estimates.variances, 0.0)
        z = threshold(max(len(parties), 1), asked.candidates, rule == "sum")
        scores, marks = np.zeros(len(names)), np.zeros(len(names), dtype=np.bool_)
        known = [found.heavy_hitters for found in sent]
        hashes = [found.hashes for found in sent]
        for rows, supports in ((slice(asked.read), known), (slice(asked.read, None), hashes)):
            having = [index for index, support in enumerate(supports) if support.reports]
            if having:
                some = [supports[index] for index in having]
                s = np.array([support.deviation for support in some])
                reports = np.array([float(support.reports) for support in some])
                noise = NoiseScores.of(np.array([each.support for each in some]).T, reports, self.oracle.q, s)
                scores[rows] = scored(counts[rows][:, having], s**2, ZETA, rule).scores
                marks[rows] = significant(noise, z, rule == "sum")
        outside = [found.outside.estimates for found in sent if found.outside.reports]
        shown = np.empty(len(names), dtype=object)
        shown[:] = [None if texts is None else texts.get(name) for name in names.tolist()]
        doubtful = np.array([texts is not None and text is None for text in shown], dtype=np.bool_) & ~marks
        ranking = GlobalRanking(
            names, counts.sum(axis=1), variances, np.full(len(names), len(parties)), marks, z,
            UsersOutside.of(outside),
            None if texts is None else shown,
        )  # fmt: skip
        if not parties:
            return ranking.at(np.empty(0, dtype=np.int64))
        best = np.lexsort((-scores, doubtful))[: parameters.k]
        return replace(ranking.at(best).top(parameters.k), entry=self._entry(scores[best], rule))

    def _entry(self, scores: Frequencies, rule: ScoreRule) -> float | None:
        """Return the count at one party that the least of the best scores takes, by reports of all kinds."""
        if not len(scores):
            return None
        variances = np.array([self.deviation(party, read=True) ** 2 for party in self.kinds])
        more = np.full(len(variances), self.oracle.q / (self.oracle.p - self.oracle.q))
        return entry_count(float(scores.min()), ZETA, variances, more, rule)
