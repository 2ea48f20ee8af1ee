"""Run by the server: what the parties' counts say together, and the k best names."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.mechanisms.dialogue import Findings, Roster
from treetop.mechanisms.panorama.plan import PanoramaParameters
from treetop.mechanisms.panorama.texts import Texts
from treetop.mechanisms.summed_level import users_outside
from treetop.oracles.frequency_oracle import Frequencies, FrequencyOracle
from treetop.trie.global_ranking import GlobalRanking
from treetop.trie.lower_confidence import ScoreRule, entry_count, scored
from treetop.trie.party_counts import QuantisedCounts, noise_deviation
from treetop.trie.significance import NoiseScores, normal_scores, significant, threshold

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
        self, parameters: PanoramaParameters, asked: ClosingRound, findings: Mapping[str, Findings]
    ) -> GlobalRanking:
        """Return the k best names; a hash without a text gives way to any other unless noise would hardly show it."""
        names, texts = asked.names, asked.texts
        parties = [party for party in findings if party in self.kinds]
        rule = parameters.rule(len(self.roster.members))
        counts = np.zeros((len(names), len(parties)))
        variances = np.zeros(len(names))
        for place, party in enumerate(parties):
            counts[:, place] = findings[party].heavy_hitters.counts
            errors = findings[party].heavy_hitters.variances  # infinite for a kind without reports
            variances += np.where(np.isfinite(errors), errors, 0.0)
        z = threshold(max(len(parties), 1), asked.candidates, rule == "sum")
        scores, marks = np.zeros(len(names)), np.zeros(len(names), dtype=np.bool_)
        for rows, read in ((slice(asked.read), True), (slice(asked.read, None), False)):
            having = [place for place, party in enumerate(parties) if self.reports(party, read=read)]
            if having:
                some, counted = [parties[place] for place in having], counts[rows][:, having]
                s = np.array([self.deviation(party, read=read) for party in some])
                scores[rows] = scored(counted, s**2, ZETA, rule).scores
                marks[rows] = significant(self._noise(some, counted, s, read=read), z, rule == "sum")
        shown = np.empty(len(names), dtype=object)
        shown[:] = [None if texts is None else texts.get(name) for name in names.tolist()]
        doubtful = np.array([texts is not None and text is None for text in shown], dtype=np.bool_) & ~marks
        ranking = GlobalRanking(
            names, counts.sum(axis=1), variances, np.full(len(names), len(parties)), marks, z,
            users_outside([each for party in parties if (each := findings[party].outside) and each.reports]),
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

    def _noise(self, parties: list[str], counts: Frequencies, s: Frequencies, *, read: bool) -> NoiseScores:
        """Read counts back as support among the reports that they come from."""
        p, q = self.oracle.p, self.oracle.q
        n = np.array([float(self.users(party)) for party in parties])
        r = np.array([float(self.reports(party, read=read)) for party in parties])
        support = np.rint(r * (q + (p - q) * counts / n))
        return NoiseScores(normal_scores(support, r, q), s, r * q)
