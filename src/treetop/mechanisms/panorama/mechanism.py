"""Panorama: every user reports her whole name once, and her one report counts for every name there can be.

A fast transform reads the support of all 2^b names from the reports, so that nothing is searched: one level, one shot.
Names on a public list are counted by all reports; names on no list are looked for among all that there can be, and
their texts are read from users who, whatever they hold, were drawn to report one chunk of their text behind its name.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes, code_array
from treetop.encoding.item_codecs import Hashed
from treetop.mechanisms.dialogue import (
    AskParties,
    CollectNames,
    Dialogue,
    Findings,
    HearServer,
    LevelTrace,
    Member,
    NameReports,
    Record,
    Roster,
    TellServer,
    ask,
)
from treetop.mechanisms.panorama.discovery import ConspicuousNames, most_conspicuous
from treetop.mechanisms.panorama.plan import READ, PanoramaParameters, PanoramaPlan
from treetop.mechanisms.panorama.texts import ChunkCounts, ListedNames, Rows, Texts, chunk_rows, spelt_texts
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.summed_level import users_outside
from treetop.oracles.frequency_oracle import Counts, Frequencies, FrequencyOracle, Tally
from treetop.oracles.registry import AUTO, oracle_named
from treetop.trie.global_ranking import COUNT_BITS, CountedPrefixes, GlobalRanking, LevelEstimates, summed
from treetop.trie.lower_confidence import best_places, scored
from treetop.trie.party_counts import QuantisedCounts, noise_deviation
from treetop.trie.significance import NoiseScores, normal_scores, significant, threshold

ZETA = NormalDist().inv_cdf(1 - 2.0**-8)
ORACLE = "walsh"


@dataclass(frozen=True, eq=False)
class FirstCounts:
    """Party to server: the reports of every kind, the counts of all listed names, and what else is conspicuous."""

    kinds: tuple[int, ...]
    listed: QuantisedCounts
    others: ConspicuousNames | None

    @property
    def bits(self) -> int:
        """Return the bits of all that is sent."""
        return len(self.kinds) * COUNT_BITS + self.listed.bits + (0 if self.others is None else self.others.bits)


@dataclass(frozen=True, eq=False)
class CountsWanted:
    """Server to every party: count these names by the reports of whole names, in steps of half a deviation."""

    names: Codes


@dataclass(frozen=True, eq=False)
class ChunksWanted:
    """Server to every party: count all chunks behind these names."""

    names: Codes


@dataclass(frozen=True, eq=False)
class NamesWanted:
    """Server to every party: names whose signed counts are wanted; so many as there are rows have a text."""

    names: Codes
    chunks: Rows


@dataclass(frozen=True, eq=False)
class Panorama(Mechanism[PanoramaParameters]):
    """The two dialogues, over a public list and, where names are looked for, over all that there can be."""

    listed: ListedNames
    discovers: bool = True
    texts: bool = True

    name = "panorama"
    parameters = PanoramaParameters
    modes = ()

    def plan(self, parameters: PanoramaParameters, parties: int) -> PanoramaPlan:
        """Return what is public before the first report."""
        signed = parameters.rule(parties) == "sum"
        return PanoramaPlan.of(parameters, len(self.listed), signed=signed, discovers=self.discovers, texts=self.texts)

    def oracle(self, parameters: PanoramaParameters) -> FrequencyOracle[Any]:
        """Return walsh, unless told."""
        return oracle_named(ORACLE if parameters.oracle == AUTO else parameters.oracle, parameters.epsilon, 1 << parameters.bits)

    def outside(self, parameters: PanoramaParameters) -> Codes:
        """Return the one name that devices report who have none: all its bits are set."""
        return code_array([(1 << parameters.bits) - 1], parameters.bits)

    def party(self, parameters: PanoramaParameters, roster: Roster, party: Member) -> Dialogue[Findings]:
        """Run by a party: ask everybody once, then count what the server asks about, ever fewer names."""
        plan, oracle = self.plan(parameters, len(roster.members)), self.oracle(parameters)
        signed = parameters.rule(len(roster.members)) == "sum"
        reports = yield from ask(CollectNames(parameters.bits, oracle, plan.weights))
        counted = NameCounts(parameters.bits, party.users, oracle, reports)
        listed = counted.by_all(self.listed.names, self.listed.chunks)
        taken = np.append(self.listed.names, self.outside(parameters))
        others = counted.conspicuous(plan.tau, taken) if self.discovers else None
        sent = QuantisedCounts.of(listed.counts, listed.deviation, signed)
        yield from ask(TellServer(FirstCounts(reports.kinds, sent, others)))
        if self.discovers:
            asked = yield from ask(HearServer[CountsWanted]())
            counts = counted.by_names(asked.names)
            yield from ask(TellServer(QuantisedCounts.of(counts.counts, counts.deviation, signed)))
        if self.texts:
            unread = yield from ask(HearServer[ChunksWanted]())
            yield from ask(TellServer(counted.chunks(unread.names)))
        wanted = yield from ask(HearServer[NamesWanted]())
        read = len(wanted.chunks)
        found = [counted.by_all(wanted.names[:read], wanted.chunks), counted.by_names(wanted.names[read:])]
        kept, names = len(wanted.names), len(self.listed)
        yield from ask(Record(LevelTrace(1, parameters.bits, names, sum(reports.kinds), oracle.name, kept)))
        outside = counted.by_names(self.outside(parameters)).uploaded(parameters.bits)
        return Findings(joined(each.uploaded(parameters.bits) for each in found), outside, local=listed.top(parameters.k))

    def server(self, parameters: PanoramaParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: the best listed names and the best others, read where they can be; the k best of all."""
        k, rule = parameters.k, parameters.rule(len(roster.members))
        parties = Parties(roster, self.oracle(parameters))
        first = yield from ask(AskParties[FirstCounts](dict.fromkeys(roster.names)))
        parties.heard(first)
        counts, variances = parties.matrix({name: sent.listed for name, sent in first.items()})
        best = best_places(counts, variances, ZETA, rule, 4 * k + READ) if len(counts) and len(variances) else NOWHERE
        best = self.listed.best_of_each(best)[: 2 * k + READ]
        read = self.listed.read(best)
        others = self.listed.names[:0]
        if self.discovers:
            others, clear, expected = yield from self._others(parameters, parties, first)
            if self.texts:
                sent = yield from ask(AskParties[ChunkCounts](dict.fromkeys(roster.names, ChunksWanted(others))))
                codec = Hashed(parameters.bits, parameters.hash_key)
                read |= spelt_texts(others, {name: sent[name] for name in expected if name in sent}, expected, clear, codec)
        wanted = self._wanted(parameters, roster, best, others, read)
        findings = yield from ask(AskParties[Findings](dict.fromkeys(roster.names, wanted)))
        candidates = len(self.listed) + (1 << parameters.bits if self.discovers else 0)
        return parties.ranked(parameters, wanted, findings, read if self.texts or self.listed.texts else None, candidates)

    def _others(
        self, parameters: PanoramaParameters, parties: "Parties", first: Mapping[str, FirstCounts]
    ) -> Dialogue[tuple[Codes, NDArray[np.bool_], dict[str, Frequencies]]]:
        """Run by the server: the best names on no list, whether each is clear of noise, and each party's counts."""
        plan, names = self.plan(parameters, len(parties.roster.members)), parties.roster.names
        rule, k = parameters.rule(len(names)), parameters.k
        sent = {name: each.others for name, each in first.items() if name in parties.kinds and each.others is not None}
        asked = self.listed.names[:0]
        if sent:
            asked = most_conspicuous(sent, {name: parties.deviation(name, 0) for name in sent}, plan.tau, ZETA, plan.asked)
        answers = yield from ask(AskParties[QuantisedCounts](dict.fromkeys(names, CountsWanted(asked))))
        counts, variances = parties.matrix(answers)
        if not len(asked) or not len(variances):
            return asked[:0], np.zeros(0, dtype=np.bool_), {}
        best = np.sort(best_places(counts, variances, ZETA, rule, READ if self.texts else 2 * k + READ))
        z = threshold(len(variances), 1 << parameters.bits, rule == "sum")
        clear = scored(counts[best], variances, z, rule).scores > 0
        present = [name for name in answers if name in parties.kinds and not answers[name].missing]
        return asked[best], clear, {name: counts[best, place] for place, name in enumerate(present)}

    def _wanted(
        self, parameters: PanoramaParameters, roster: Roster, best: NDArray[np.int64], others: Codes, read: Texts
    ) -> NamesWanted:
        """Run by the server: names with a text first, counted by all reports; the others by reports of whole names."""
        if self.listed.texts is None and not self.texts:
            known = np.sort(np.concatenate([self.listed.names[best], others]))
            return NamesWanted(known, chunk_rows([b""] * len(known), 0))
        named = sorted(read)
        rows = chunk_rows([read[name].text for name in named], self.plan(parameters, len(roster.members)).chunks)
        unread = others[[name not in read for name in others.tolist()]]
        return NamesWanted(np.append(code_array(named, parameters.bits), unread).astype(others.dtype), rows)

    def lengths(self, parameters: PanoramaParameters) -> tuple[int, ...]:
        """Return the one level: whole names."""
        return (0, parameters.bits)

    def max_candidates(self, parameters: PanoramaParameters) -> tuple[int, ...]:  # noqa: ARG002
        """Return the length of the list: all other names are counted at once."""
        return (len(self.listed),)

    def choices(self, parameters: PanoramaParameters) -> tuple[str, ...]:
        """Say what was chosen and why, for the reader of an answer."""
        oracle = self.oracle(parameters)
        return (f"every user reports one of 2^{parameters.bits} names, or a part of its text, once by {oracle.name}",)


NOWHERE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class EstimatedNames:
    """Run by a party: unbiased frequencies of some names among the reports that were counted for them."""

    names: Codes
    frequencies: Frequencies
    reports: int
    oracle: FrequencyOracle[Any]
    users: int

    @property
    def counts(self) -> Frequencies:
        """Return c_i(x), scaled to the party's users."""
        return self.frequencies * self.users

    @property
    def deviation(self) -> float:
        """Return s_i."""
        return noise_deviation(self.users, self.reports, self.oracle)

    def top(self, number: int) -> Codes:
        """Return the party's own most frequent ones."""
        return self.names[np.argsort(-self.frequencies, kind="stable")[:number]]

    def uploaded(self, length: int) -> CountedPrefixes:
        """Return the signed counts, with their errors."""
        estimates = LevelEstimates(length, self.names, self.frequencies, self.reports, self.oracle)
        return CountedPrefixes.of(estimates, self.users, asked_for=True)


@dataclass(frozen=True, eq=False)
class NameCounts:
    """Run by a party: what its reports say of names, as counts."""

    bits: int
    users: int
    oracle: FrequencyOracle[Any]
    reports: NameReports

    def _estimated(self, names: Codes, support: Counts, reports: int) -> EstimatedNames:
        return EstimatedNames(names, self.oracle.estimate(Tally(support, reports)), reports, self.oracle, self.users)

    def by_names(self, names: Codes) -> EstimatedNames:
        """Count by the reports of whole names."""
        return self._estimated(names, self.reports.support(names), self.reports.kinds[0])

    def by_all(self, names: Codes, chunks: Rows) -> EstimatedNames:
        """Count by the reports of all kinds: the texts are known."""
        return self._estimated(names, self.reports.text_support(names, chunks), sum(self.reports.kinds))

    def conspicuous(self, tau: float, taken: Codes) -> ConspicuousNames:
        """Return the names that lie far above the noise, but for those that are counted anyway."""
        r, q = self.reports.kinds[0], self.oracle.q
        deviation = np.sqrt(r * q * (1 - q))
        names, support = self.reports.above(int(np.ceil(r * q + tau * deviation)), taken)
        return ConspicuousNames.of(names, (support - r * q) / max(deviation, 1.0), tau, 1 << self.bits)

    def chunks(self, names: Codes) -> ChunkCounts:
        """Count every value of every chunk behind some names."""
        counted = [
            self._estimated(names, self.reports.chunk_support(names, chunk).ravel(), reports)
            for chunk, reports in enumerate(self.reports.kinds[1:])
        ]
        return ChunkCounts(tuple(QuantisedCounts.of(each.counts, each.deviation) for each in counted))


def joined(uploads: Iterable[CountedPrefixes]) -> CountedPrefixes:
    """Return counts by all reports and counts by some of them as one upload."""
    first, second = uploads
    return replace(
        first, prefixes=np.append(first.prefixes, second.prefixes), counts=np.append(first.counts, second.counts),
        variances=np.append(first.variances, second.variances),
    )  # fmt: skip


class Parties:
    """Run by the server: those that have reports, and how noisy their counts are."""

    def __init__(self, roster: Roster, oracle: FrequencyOracle[Any]) -> None:
        self.roster, self.oracle = roster, oracle
        self.kinds: dict[str, tuple[int, ...]] = {}
        self._users = {member.name: member.users for member in roster.members}

    def heard(self, first: Mapping[str, FirstCounts]) -> None:
        """Note how many reports of every kind each party has."""
        self.kinds = {name: sent.kinds for name, sent in first.items() if sum(sent.kinds)}

    def reports(self, name: str, read: int) -> int:
        """Return a party's reports of whole names, or all of them, which count for names whose text was read."""
        return sum(self.kinds[name]) if read else self.kinds[name][0]

    def deviation(self, name: str, read: int) -> float:
        """Return s_i of names without a text, or of those with one."""
        return noise_deviation(self._users[name], self.reports(name, read), self.oracle)

    def matrix(self, sent: Mapping[str, QuantisedCounts]) -> tuple[Frequencies, Frequencies]:
        """Return counts, names x parties, and the parties' variances."""
        present = [sent[name] for name in sent if name in self.kinds and not sent[name].missing]
        counts = np.array([each.counts for each in present])
        return counts.T if present else np.empty((0, 0)), np.array([each.variance for each in present])

    def ranked(
        self, parameters: PanoramaParameters, wanted: NamesWanted, findings: Mapping[str, Findings],
        read: Texts | None, candidates: int,
    ) -> GlobalRanking:  # fmt: skip
        """Return the k best names by their score; one without a text only where noise would hardly show it."""
        names = [name for name in findings if name in self.kinds]
        rule, z = parameters.rule(len(self.roster.members)), threshold(max(len(names), 1), candidates, plain_sum=False)
        if not names:
            return replace(summed([CountedPrefixes.of(_nothing(wanted, self.oracle), 1)]), texts=None if read is None else np.empty(0, object))
        uploads = [findings[name].heavy_hitters for name in names]
        counts = np.array([upload.counts for upload in uploads]).T
        scores, marks = np.empty(len(wanted.names)), np.empty(len(wanted.names), dtype=np.bool_)
        plain = rule == "sum"
        z = threshold(len(names), candidates, plain)
        for rows, kind in ((slice(len(wanted.chunks)), 1), (slice(len(wanted.chunks), None), 0)):
            s = np.array([self.deviation(name, kind) for name in names])
            scores[rows] = scored(counts[rows], s**2, ZETA, rule).scores
            marks[rows] = significant(self._noise(names, counts[rows], kind, s), z, plain)
        outside = users_outside([each for name in names if (each := findings[name].outside) is not None])
        ranking = replace(
            GlobalRanking(
                wanted.names, counts.sum(axis=1), np.sum([upload.variances for upload in uploads], axis=0),
                np.full(len(wanted.names), len(names)),
            ), significant=marks, z=z, outside=outside,
        )  # fmt: skip
        doubtful = np.zeros(len(marks), dtype=np.bool_)
        if read is not None:
            texts = np.empty(len(marks), dtype=object)
            texts[:] = [read.get(name) for name in wanted.names.tolist()]
            ranking, doubtful = replace(ranking, texts=texts), np.array([text is None for text in texts]) & ~marks
        return ranking.at(np.lexsort((-scores, doubtful))[: parameters.k]).top(parameters.k)

    def _noise(self, names: list[str], counts: Frequencies, kind: int, s: Frequencies) -> NoiseScores:
        """Read counts back as support among the reports that they come from."""
        p, q = self.oracle.p, self.oracle.q
        n = np.array([float(self._users[name]) for name in names])
        r = np.array([float(self.reports(name, kind)) for name in names])
        support = np.rint(r * (q + (p - q) * counts / n))
        return NoiseScores(normal_scores(support, r, q), s, r * q)
