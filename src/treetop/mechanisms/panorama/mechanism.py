"""Panorama: every user reports her whole name once, and her one report counts for every name there can be.

A fast transform reads the support of all 2^b names from the reports, so that nothing is searched: one level, one shot.
Names on a public list are counted by everybody; names on no list are looked for among all, and their texts are read
from users who, whatever they hold, were drawn to report a chunk of their text behind its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes, code_array
from treetop.encoding.item_codecs import Hashed
from treetop.encoding.text_code import CHUNK_VALUES, chunks_of
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
from treetop.mechanisms.panorama.discovery import STEP, ConspicuousNames, most_conspicuous
from treetop.mechanisms.panorama.plan import READ, ZETA, PanoramaParameters, PanoramaPlan
from treetop.mechanisms.protocol import Mechanism
from treetop.oracles.frequency_oracle import Counts, Frequencies, FrequencyOracle
from treetop.trie.global_ranking import COUNT_BITS, CountedPrefixes, GlobalRanking, ReadText, summed
from treetop.trie.lower_confidence import best_places, scored
from treetop.trie.party_counts import QuantisedCounts
from treetop.trie.significance import NoiseScores, normal_scores, significant, threshold
from treetop.trie.text_recovery import NARROW, WIDE, log_likelihood_gains, recovered_text


@dataclass(frozen=True, eq=False)
class ListedNames:
    """A public list: for every text its name, and the chunks of its code where texts are reported."""

    texts: tuple[bytes, ...]
    names: Codes
    chunks: NDArray[np.uint8]

    @classmethod
    def of(cls, texts: tuple[bytes, ...], codec: Hashed, chunks: int) -> "ListedNames":
        """Hash the texts of a list."""
        names = code_array([codec.hash_of(text) for text in texts], codec.bits)
        rows = np.frombuffer(b"".join(chunks_of(text, chunks) for text in texts), dtype=np.uint8) if chunks else np.empty(0, np.uint8)
        return cls(texts, names, rows.reshape(len(texts), chunks))

    def __len__(self) -> int:
        return len(self.texts)


@dataclass(frozen=True, eq=False)
class FirstCounts:
    """Party to server: the reports of every kind, the counts of all listed names, and what else is conspicuous."""

    kinds: tuple[int, ...]
    listed: QuantisedCounts
    others: ConspicuousNames | None

    @property
    def bits(self) -> int:
        return len(self.kinds) * COUNT_BITS + self.listed.bits + (0 if self.others is None else self.others.bits)


@dataclass(frozen=True, eq=False)
class CountsWanted:
    """Server to every party: count these names by the reports of whole names."""

    names: Codes


@dataclass(frozen=True, eq=False)
class TextsWanted:
    """Server to every party: send the chunk counts behind these names."""

    names: Codes


@dataclass(frozen=True, eq=False)
class ChunkCounts:
    """Party to server: for every chunk the counts of all its values behind each name."""

    chunks: tuple[QuantisedCounts, ...]

    @property
    def bits(self) -> int:
        return sum(chunk.bits for chunk in self.chunks)


@dataclass(frozen=True, eq=False)
class NamesWanted:
    """Server to every party: names whose signed counts are wanted; the first ones have a text, with these chunks."""

    names: Codes
    chunks: NDArray[np.uint8]


@dataclass(frozen=True)
class PartyScale:
    """How support among the reports of some kinds becomes users of a party."""

    users: int
    reports: int
    oracle: FrequencyOracle[Any]

    def counts(self, support: Counts) -> Frequencies:
        p, q, r = self.oracle.p, self.oracle.q, max(self.reports, 1)
        return self.users * (support / r - q) / (p - q)

    @property
    def deviation(self) -> float:
        return float(np.float32(self.users * np.sqrt(self.oracle.variance(0.0, self.reports)))) if self.reports else np.inf

    def variances(self, counts: Frequencies) -> Frequencies:
        n, r = self.users, max(self.reports, 1)
        f = np.clip(counts / n, 0, 1)
        return n**2 * (self.oracle.variance(f, self.reports) + f * (1 - f) / r * (1 - r / n))

    def least_support(self, tau: float) -> int:
        q, r = self.oracle.q, self.reports
        return int(np.ceil(r * q + tau * np.sqrt(r * q * (1 - q))))


@dataclass(frozen=True, eq=False)
class Panorama(Mechanism[PanoramaParameters]):
    """The two dialogues."""

    listed: ListedNames
    discovers: bool = True
    texts: bool = True

    name = "panorama"
    parameters = PanoramaParameters
    modes = ()

    def plan(self, parameters: PanoramaParameters) -> PanoramaPlan:
        return PanoramaPlan.of(parameters, len(self.listed), discovers=self.discovers, texts=self.texts)

    def oracle(self, parameters: PanoramaParameters) -> FrequencyOracle[Any]:
        return parameters.oracle_for(1 << 20)

    def party(self, parameters: PanoramaParameters, roster: Roster, party: Member) -> Dialogue[Findings]:
        plan, oracle = self.plan(parameters), self.oracle(parameters)
        reports = yield from ask(CollectNames(parameters.bits, oracle, plan.weights))
        whole = PartyScale(party.users, reports.kinds[0], oracle)
        every = PartyScale(party.users, sum(reports.kinds), oracle)
        signed = parameters.score == "sum"
        listed = every.counts(reports.text_support(self.listed.names, self.listed.chunks))
        others = conspicuous(reports, whole, self.listed.names, plan.tau, 1 << parameters.bits) if self.discovers else None
        yield from ask(TellServer(FirstCounts(reports.kinds, QuantisedCounts.of(listed, every.deviation, signed), others)))
        if self.discovers:
            wanted = yield from ask(HearServer[CountsWanted]())
            counts = whole.counts(reports.support(wanted.names))
            yield from ask(TellServer(QuantisedCounts.of(counts, whole.deviation, signed)))
        if self.texts:
            unread = yield from ask(HearServer[TextsWanted]())
            yield from ask(TellServer(chunk_counts(reports, unread.names, party.users, oracle)))
        names = yield from ask(HearServer[NamesWanted]())
        read = len(names.chunks)
        known = every.counts(reports.text_support(names.names[:read], names.chunks))
        rest = whole.counts(reports.support(names.names[read:]))
        yield from ask(Record(LevelTrace(1, parameters.bits, len(self.listed), every.reports, oracle.name, len(names.names))))
        counted = CountedPrefixes(
            parameters.bits, names.names, np.concatenate([known, rest]),
            np.concatenate([every.variances(known), whole.variances(rest)]), every.reports, oracle.size, asked_for=True,
        )
        best = np.argsort(-listed, kind="stable")[: parameters.k]
        return Findings(counted, local=self.listed.names[best])

    def server(self, parameters: PanoramaParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        plan, oracle = self.plan(parameters), self.oracle(parameters)
        uploads = yield from ask(AskParties[FirstCounts](dict.fromkeys(roster.names)))
        present = {name: sent for name, sent in uploads.items() if not sent.listed.missing}
        users = {member.name: member.users for member in roster.members}
        scales = {name: (PartyScale(users[name], sum(sent.kinds), oracle), PartyScale(users[name], sent.kinds[0], oracle)) for name, sent in present.items()}
        score = parameters.score
        counts = np.array([sent.listed.counts for sent in present.values()]).reshape(len(present), len(self.listed)).T
        variances = np.array([sent.listed.variance for sent in present.values()])
        best = best_places(counts, variances, ZETA, score, 4 * parameters.k + 20) if len(self.listed) else np.empty(0, np.int64)
        best = first_of_each(self.listed.names, best)[: 2 * parameters.k + 10]
        read = {int(self.listed.names[place]): ReadText(self.listed.texts[place], "listed") for place in best.tolist()}
        found = self.listed.names[:0]
        if self.discovers:
            sent = {name: each.others for name, each in present.items() if each.others is not None}
            cells = most_conspicuous(sent, {name: scales[name][1].deviation for name in sent}, plan.tau, plan.asked)
            answers = yield from ask(AskParties[QuantisedCounts](dict.fromkeys(roster.names, CountsWanted(cells))))
            matrix = np.array([answers[name].counts for name in present]).reshape(len(present), len(cells)).T
            spread = np.array([answers[name].variance for name in present])
            number = READ if self.texts else 3 * parameters.k
            chosen = np.sort(best_places(matrix, spread, ZETA, score, number))
            found, expected = cells[chosen], matrix[chosen]
            clear = scored(expected, spread, threshold(len(present), 1 << parameters.bits), score).scores > 0
        if self.texts:
            said = yield from ask(AskParties[ChunkCounts](dict.fromkeys(roster.names, TextsWanted(found))))
            gains = np.zeros((len(found), plan.chunks, CHUNK_VALUES))
            for index, name in enumerate(present):
                gains += gains_of(said[name], expected[:, index])
            codec = Hashed(parameters.bits, parameters.hash_key)
            for code, rows, is_clear in zip(found.tolist(), gains, clear.tolist(), strict=True):
                text = recovered_text(rows, lambda text, code=code: codec.hash_of(text) == code and is_utf_8(text), widths=(NARROW, WIDE) if is_clear else (NARROW,))
                if text is not None:
                    read[code] = ReadText(text, "recovered")
        codes = sorted(read)
        rows = np.frombuffer(b"".join(chunks_of(read[code].text, plan.chunks) for code in codes), dtype=np.uint8) if plan.chunks else np.empty(0, np.uint8)
        unread = found[[code not in read for code in found.tolist()]]
        names = np.concatenate([code_array(codes, parameters.bits), unread]).astype(self.listed.names.dtype)
        wanted = NamesWanted(names, rows.reshape(len(codes), plan.chunks))
        findings = yield from ask(AskParties[Findings](dict.fromkeys(roster.names, wanted)))
        return ranked(parameters, [findings[name].heavy_hitters for name in present], [scales[name] for name in present], len(codes), read, len(self.listed) + ((1 << parameters.bits) if self.discovers else 0))

    def lengths(self, parameters: PanoramaParameters) -> tuple[int, ...]:
        return (0, parameters.bits)


def conspicuous(reports: NameReports, whole: PartyScale, listed: Codes, tau: float, space: int) -> ConspicuousNames:
    least = whole.least_support(tau)
    names, support = reports.above(least, listed)
    q, r = whole.oracle.q, whole.reports
    z = (support - r * q) / np.sqrt(r * q * (1 - q))
    return ConspicuousNames(names, np.rint((z - tau) / STEP).astype(np.int64).clip(0), space)


def chunk_counts(reports: NameReports, names: Codes, users: int, oracle: FrequencyOracle[Any]) -> ChunkCounts:
    rows = []
    for chunk, kind in enumerate(reports.kinds[1:]):
        scale = PartyScale(users, kind, oracle)
        rows.append(QuantisedCounts.of(scale.counts(reports.chunk_support(names, chunk)).ravel(), scale.deviation))
    return ChunkCounts(tuple(rows))


def gains_of(sent: ChunkCounts, expected: Frequencies) -> Frequencies:
    rows = [
        np.zeros((len(expected), CHUNK_VALUES))
        if chunk.missing
        else log_likelihood_gains(chunk.counts.reshape(len(expected), CHUNK_VALUES), chunk.variance, expected)
        for chunk in sent.chunks
    ]
    return np.stack(rows, axis=1)


def is_utf_8(text: bytes) -> bool:
    try:
        return bool(text.decode("utf-8"))
    except UnicodeDecodeError:
        return False


def first_of_each(names: Codes, places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the places whose name stands at no earlier one."""
    _, first = np.unique(names[places], return_index=True)
    return places[np.sort(first)]


def ranked(parameters, uploads, scales, read_number, read, candidates) -> GlobalRanking:
    if not uploads:
        raise NotImplementedError
    names = uploads[0].prefixes
    plain = parameters.score == "sum"
    z = threshold(len(uploads), candidates, plain)
    counts = np.array([upload.counts for upload in uploads]).T
    scores, marks = np.empty(len(names)), np.empty(len(names), dtype=np.bool_)
    for rows, kind in ((slice(0, read_number), 0), (slice(read_number, None), 1)):
        party = [pair[kind] for pair in scales]
        s = np.array([each.deviation for each in party])
        scores[rows] = scored(counts[rows], s**2, ZETA, parameters.score).scores
        n, r, q, p = np.array([e.users for e in party], float), np.array([float(e.reports) for e in party]), party[0].oracle.q, party[0].oracle.p
        support = np.rint(r * (q + (p - q) * counts[rows] / n))
        marks[rows] = significant(NoiseScores(normal_scores(support, r, q), s, r * q), z, plain)
    texts = np.empty(len(names), dtype=object)
    texts[:] = [read.get(code) for code in names.tolist()]
    ranking = GlobalRanking(names, counts.sum(axis=1), np.array([u.variances for u in uploads]).sum(axis=0), np.full(len(names), len(uploads)), significant=marks, z=z, texts=texts)
    doubtful = np.array([text is None for text in texts]) & ~marks
    order = np.lexsort((-scores, doubtful))[: parameters.k]
    return ranking.at(order).top(parameters.k)
