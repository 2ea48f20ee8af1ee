"""Panorama: each report contributes to the estimates of all 2^b possible codes, and nothing is searched.

public    eps; k; b, the bits of a code; m, the chunks of a text (0 where no text is read); L, a public list of items
          H(x)      the code of item x: an id below 2^b, an index in a catalogue, or b bits of a keyed hash of a text
          c_j(x)    chunk j = 1..m of a text: 8 bits of its public code, which is repeated until m chunks are full
          rho, v_j  the share of users who report a chunk, and how often chunk j is drawn among them; sum v_j = 1
          tau, asked, kept   from the upload budget (PanoramaPlan)
          p, q      how likely a report supports what it came from, and anything else

device    draw the kind of the report independently of x: 0 with probability 1 - rho, j = 1..m with probability rho v_j
          kind 0    report H(x) under eps-LDP; 1^b where x has no code
          kind j    report (H(x), j, c_j(x)) under eps-LDP

party i   has n_i users and r_j reports of kind j, of which S_j(y) support y
          counts are n_i (S / r - q) / (p - q); s_i is the standard deviation of the count of what nobody holds
     1    F(x) = S_0(H(x)) + sum_j S_j(H(x), j, c_j(x)) for x in L: the text is known, so all kinds count
          U    = the codes outside L, of all 2^b, whose S_0 has a normal score of at least tau
          send r_0..r_m, the counts of F in steps of s_i / 2, and U with its scores above tau in steps of 1/2
     2    receive A; send the counts of S_0 on A in steps of s_i / 2
     3    receive R; send the counts of S_j(H, j, v) for H in R, every j and v = 0..255, in steps of s_i / 2
     4    receive T and Q; send F on T, S_0 on Q and S_0(1^b) as they are

server    score = max over sets P of parties: sum_P c_i - zeta sqrt(sum_P s_i^2); above ten parties P is all of them
     1    B = the k + SPARE items of L with the best scores
     2    A = the `asked` codes in any U with the best scores over the parties that sent them
          R = the `kept` codes in A with the best scores over all parties, but for those whose score is more than
              FAR_BELOW sqrt(sum s_i^2) below the k-th best in B and among the codes in A that noise would hardly show
     3    text of H in R = the first text t with H(t) = H by falling
              sum over i, j of max(0, c_i(H)) c_i(H, j, c_j(t)) / s_ij^2  -  ln 2 (bits of the code of t)
     4    T = the codes of B, and those in R with a text; Q = the others in R
          rank T and Q by score, codes without a text last unless noise would hardly show them; answer the first k

Ids have no texts (m = 0): step 3 is left out, and R joins T. Over a catalogue steps 2 and 3 are left out, and devices
may report through an oracle for lists. What devices run is in `oracles.walsh.device` and `federation.device`; the
constants and what chose them are in `parameters`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes, code_array
from treetop.encoding.item_codecs import Hashed, Ids, ItemCodec, ListedItems
from treetop.encoding.text_code import CHUNK_VALUES
from treetop.errors import InvalidInput
from treetop.mechanisms.deployment import PanoramaDeployment
from treetop.mechanisms.dialogue import (
    AskParties,
    CollectNames,
    CollectReports,
    Dialogue,
    DrawGroup,
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
from treetop.mechanisms.levels import Levels
from treetop.mechanisms.notes import PanoramaNotes
from treetop.mechanisms.panorama.discovery import ConspicuousCodes, PanoramaPlan, most_conspicuous
from treetop.mechanisms.panorama.parameters import (
    FAR_BELOW,
    MAX_CODE_BITS,
    SPARE,
    ZETA,
    CatalogueParameters,
    IdParameters,
    PanoramaParameters,
    WholeCodeParameters,
)
from treetop.mechanisms.panorama.texts import ChunkCounts, CodeList, Rows, Texts, chunk_rows, recovered_texts
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.summed_level import CountTable
from treetop.mechanisms.wire.panorama import (
    ChunksWanted,
    CountsWanted,
    FirstCounts,
    PanoramaFindings,
    PanoramaWire,
    SupportWanted,
)
from treetop.oracles.frequency_oracle import Counts, Frequencies, FrequencyOracle, Tally
from treetop.oracles.name_reports import counts_every_name
from treetop.oracles.registry import AUTO, find_oracle, listed_oracle, oracle_named, set_form
from treetop.oracles.walsh import WalshHashing
from treetop.trie.global_ranking import GlobalRanking, UsersOutside
from treetop.trie.lower_confidence import entry_count, scored
from treetop.trie.quantised_counts import QuantisedCounts, noise_deviation
from treetop.trie.significance import NoiseScores, normal_scores, significant, threshold
from treetop.trie.support import CandidateDomain, Support
from treetop.trie.user_groups import Group

EVERYBODY = 1.0
"""Share of users who join the one group of a catalogue that is asked as a list."""


def code_oracle(parameters: PanoramaParameters) -> FrequencyOracle[Any]:
    """Return the oracle that codes are reported through: walsh, unless another is named."""
    name = WalshHashing.name if parameters.oracle == AUTO else parameters.oracle
    return oracle_named(set_form(name, parameters.items_per_user), parameters.epsilon, 1 << parameters.bits)


def catalogue_oracle(parameters: PanoramaParameters, size: int) -> FrequencyOracle[Any]:
    """Return the oracle for indices in a catalogue: k-RR where that has the smaller variance, else that of codes."""
    if parameters.items_per_user > 1:  # sets are hashed, however short the list
        return code_oracle(parameters)
    listed = listed_oracle(parameters.oracle, parameters.epsilon, size)
    return listed if listed.listed else code_oracle(parameters)


@dataclass(frozen=True, eq=False)
class Panorama(Mechanism[PanoramaParameters]):
    """The two dialogues, over a public list and, where it discovers, over all codes."""

    listed: CodeList = CodeList.hashed([], Hashed(MAX_CODE_BITS), 0, ordered=False)  # noqa: RUF009  frozen
    """L."""
    discovers: bool = True
    """Whether codes on no list are looked for (step 2)."""
    texts: bool = True
    """Whether some users report a chunk of their text (step 3)."""

    name = "panorama"
    reports_names = True

    @classmethod
    def over(cls, codec: ItemCodec, words: Sequence[str] = (), *, ordered: bool = False, chunks: int = 0) -> "Panorama":
        """Count the indices of a catalogue, ids, or hashes that a list of words names and chunks of texts spell."""
        if isinstance(codec, ListedItems):
            indices = code_array(range(len(codec.items)), codec.bits)
            return cls(CodeList.of_codes(indices), discovers=False, texts=False)
        if isinstance(codec, Ids):
            return cls(CodeList.of_codes(code_array([], codec.bits)), texts=False)
        if not isinstance(codec, Hashed):
            raise InvalidInput("codes_of_encoding", encoding=codec.name)
        encoded = [word.encode("utf-8", errors="surrogatepass") for word in words]
        return cls(CodeList.hashed(encoded, codec, chunks, ordered=ordered), texts=chunks > 0)

    @property
    def parameters(self) -> type[PanoramaParameters]:
        """Return the parameters, whose settings are those that make a difference to what is counted."""
        if self.is_catalogue:
            return CatalogueParameters
        if self.listed.texts is None:
            return IdParameters
        return PanoramaParameters if self.texts else WholeCodeParameters

    @property
    def is_catalogue(self) -> bool:
        """Return whether codes are indices in a list, and no others are looked for."""
        return self.listed.texts is None and not self.discovers

    @property
    def hashes(self) -> bool:
        """Return whether codes are hashes of texts."""
        return self.texts or self.listed.texts is not None

    def plan(self, parameters: PanoramaParameters, roster: Roster) -> PanoramaPlan:
        """Return what is public before the first report."""
        signed = parameters.rule(len(roster.members)) == "sum"
        return PanoramaPlan.of(parameters, len(self.listed), signed=signed, discovers=self.discovers, texts=self.texts)

    def oracle(self, parameters: PanoramaParameters) -> FrequencyOracle[Any]:
        """Return the named oracle, or walsh, or k-RR for a catalogue so short that its variance is smaller."""
        return catalogue_oracle(parameters, len(self.listed)) if self.is_catalogue else code_oracle(parameters)

    def party(self, parameters: PanoramaParameters, roster: Roster, party: Member) -> Dialogue[Findings]:
        """Run by party i: ask every user once, then count what the server asks about, ever fewer codes."""
        b = parameters.bits
        plan = self.plan(parameters, roster)
        oracle = self.oracle(parameters)
        signed = parameters.rule(len(roster.members)) == "sum"  # a plain sum needs negative counts
        no_code = code_array([(1 << b) - 1], b)
        reports = yield from self._collected(parameters, plan, oracle)
        S = PartySupport(b, party.users, oracle, reports)
        # Step 1
        F = S.of_all_kinds(self.listed.codes, self.listed.chunks)
        U = ConspicuousCodes.none(b)
        if self.discovers:
            U = S.conspicuous(plan.tau, np.append(self.listed.codes, no_code))
        yield from ask(TellServer(FirstCounts(reports.kinds, F.quantised(signed), U)))
        if self.discovers:
            # Step 2
            A = yield from ask(HearServer[CountsWanted]())
            yield from ask(TellServer(S.of_codes(A.codes).quantised(signed)))
            if self.texts:
                # Step 3
                R = yield from ask(HearServer[ChunksWanted]())
                yield from ask(TellServer(S.of_chunks(R.codes)))
        # Step 4
        wanted = yield from ask(HearServer[SupportWanted]())
        trace = LevelTrace(1, b, len(self.listed), sum(reports.kinds), oracle.name, kept=len(wanted.codes))
        yield from ask(Record(trace))
        T = S.of_all_kinds(wanted.with_text, wanted.chunks)
        Q = S.of_codes(wanted.without_text)
        own = np.argsort(-np.append(T.counts, Q.counts), kind="stable")[: parameters.k]
        return PanoramaFindings(T, asked_for=True, local=wanted.codes[own], without_text=Q, outside=S.of_codes(no_code))

    def _collected(
        self, parameters: PanoramaParameters, plan: PanoramaPlan, oracle: FrequencyOracle[Any]
    ) -> Dialogue[NameReports]:
        """Run by a party: ask every user for a report, or, through an oracle for lists, for an index in a catalogue."""
        if not (self.is_catalogue and oracle.listed):
            return (yield from ask(CollectNames(parameters.bits, oracle, plan.weights)))
        yield from ask(DrawGroup(Group(1), EVERYBODY))
        domain = CandidateDomain(parameters.bits, self.listed.codes)
        tally = yield from ask(CollectReports(Group(1), domain, oracle))
        return ListReports(self.listed.codes, tally)

    def server(self, parameters: PanoramaParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: the best items of the list, the best other codes and their texts; the k best of all."""
        k = parameters.k
        rule = parameters.rule(len(roster.members))
        # Step 1
        first = yield from ask(AskParties[FirstCounts](dict.fromkeys(roster.names)))
        first = {party: sent for party, sent in first.items() if sum(sent.kinds)}
        F = CountTable.of({party: sent.listed for party, sent in first.items()}, roster, len(self.listed))
        # Twice as many: of listed texts that share a code, the best one remains.
        B = self.listed.first_of_each(F.best(2 * (k + SPARE), ZETA, rule))[: k + SPARE]
        texts = self.listed.texts_at(B)
        R = self.listed.codes[:0]
        if self.discovers:
            # Step 2
            found = yield from self._discovered(parameters, roster, first, F.at(B).scored(ZETA, rule).scores)
            R = found.codes
            if self.texts:
                # Step 3
                chunks = yield from ask(AskParties[ChunkCounts](dict.fromkeys(roster.names, ChunksWanted(R))))
                codec = Hashed(parameters.bits, parameters.hash_key)
                texts |= recovered_texts(R, chunks, found.expected, found.clear, codec)
        # Step 4
        wanted = SupportWanted.of_codes(np.sort(np.append(self.listed.codes[B], R)))
        if self.hashes:
            T = code_array(sorted(texts), parameters.bits)
            Q = R[[code not in texts for code in R.tolist()]]
            rows = chunk_rows([texts[code].text for code in T.tolist()], self.plan(parameters, roster).chunks)
            wanted = SupportWanted(np.append(T, Q), rows)
        findings = yield from ask(AskParties[PanoramaFindings](dict.fromkeys(roster.names, wanted)))
        return self._ranked(parameters, roster, first, wanted, texts=texts, findings=findings)

    def _discovered(
        self,
        parameters: PanoramaParameters,
        roster: Roster,
        first: Mapping[str, FirstCounts],
        listed_scores: Frequencies,
    ) -> Dialogue["DiscoveredCodes"]:
        """Run by the server, step 2: have all parties count A, and return R."""
        k = parameters.k
        plan = self.plan(parameters, roster)
        rule = parameters.rule(len(roster.members))
        A = self.listed.codes[:0]
        if first:
            U = {party: sent.others for party, sent in first.items()}
            s = self._deviations(parameters, roster, {party: sent.kinds[0] for party, sent in first.items()})
            A = most_conspicuous(U, s, plan.tau, ZETA, plan.asked)
        answers = yield from ask(AskParties[QuantisedCounts](dict.fromkeys(roster.names, CountsWanted(A))))
        table = CountTable.of({party: sent for party, sent in answers.items() if party in first}, roster, len(A))
        if not table.parties:
            return DiscoveredCodes(A[:0], np.zeros(0, dtype=np.bool_), {})
        R = np.sort(table.best(plan.kept, ZETA, rule))
        z = threshold(len(table.parties), 1 << parameters.bits, rule == "sum")
        scores = table.at(R).scored(ZETA, rule).scores
        clear = table.at(R).scored(z, rule).scores > 0
        sure = np.sort(np.append(listed_scores, scores[clear]))
        if len(sure) >= k:
            near = scores >= sure[-k] - FAR_BELOW * table.deviation
            R = R[near]
            clear = clear[near]
        expected = {party.name: table.counts[R, column] for column, party in enumerate(table.parties)}
        return DiscoveredCodes(A[R], clear, expected)

    def _ranked(
        self,
        parameters: PanoramaParameters,
        roster: Roster,
        first: Mapping[str, FirstCounts],
        wanted: SupportWanted,
        *,
        texts: Texts,
        findings: Mapping[str, PanoramaFindings],
    ) -> GlobalRanking:
        """Run by the server, step 4: the k best of T and Q."""
        codes = wanted.codes
        oracle = self.oracle(parameters)
        rule = parameters.rule(len(roster.members))
        sent = [found for party, found in findings.items() if party in first]
        counts = np.zeros((len(codes), len(sent)))
        variances = np.zeros(len(codes))
        for column, estimates in enumerate(found.estimates for found in sent):
            counts[:, column] = estimates.counts
            # The variance is infinite where the party has no report of a kind: it adds nothing to the sum.
            variances += np.where(np.isfinite(estimates.variances), estimates.variances, 0.0)
        candidates = len(self.listed) + (1 << parameters.bits if self.discovers else 0)
        z = threshold(max(len(sent), 1), candidates, rule == "sum")
        scores = np.zeros(len(codes))
        marks = np.zeros(len(codes), dtype=np.bool_)
        T = slice(len(wanted.chunks))
        Q = slice(len(wanted.chunks), None)
        with_text = [found.heavy_hitters for found in sent]
        without_text = [found.without_text for found in sent]
        for rows, supports in ((T, with_text), (Q, without_text)):
            columns = [column for column, support in enumerate(supports) if support.reports]
            if columns:
                counted = [supports[column] for column in columns]
                s = np.array([support.deviation for support in counted])
                scores[rows] = scored(counts[rows][:, columns], s**2, ZETA, rule).scores
                marks[rows] = significant(NoiseScores.of(counted, s), z, rule == "sum")
        shown = np.empty(len(codes), dtype=object)
        shown[:] = [texts.get(code) for code in codes.tolist()]
        doubtful = np.array([self.hashes and text is None for text in shown], dtype=np.bool_) & ~marks
        ranking = GlobalRanking(
            codes,
            counts.sum(axis=1),
            variances,
            parties=np.full(len(codes), len(sent)),
            significant=marks,
            z=z,
            outside=UsersOutside.of([found.outside.estimates for found in sent if found.outside.reports]),
            texts=shown if self.hashes else None,
        )
        best = np.lexsort((-scores, doubtful))[: parameters.k if sent else 0]
        if not len(best):
            return ranking.at(best)
        reports = {party: sum(counts.kinds) for party, counts in first.items()}
        deviations = self._deviations(parameters, roster, reports)
        # A report that supports an item adds (1 - q) / (p - q) to its count and q (1 - q) / (p - q)^2 to s_i^2.
        more = np.full(len(deviations), oracle.q / (oracle.p - oracle.q))
        entry = entry_count(float(scores[best].min()), ZETA, np.array(list(deviations.values())) ** 2, more, rule)
        return replace(ranking.at(best).top(parameters.k), entry=entry)

    def _deviations(
        self, parameters: PanoramaParameters, roster: Roster, reports: Mapping[str, int]
    ) -> dict[str, float]:
        """Return s_i of every party for counts among so many reports."""
        users = {member.name: member.users for member in roster.members}
        oracle = self.oracle(parameters)
        return {party: noise_deviation(users[party], number, oracle) for party, number in reports.items()}

    def levels(self, parameters: PanoramaParameters) -> Levels:
        """Return the one level, whole codes; those on no list are counted at once, or refused where they cannot be."""
        if self.discovers and parameters.oracle != AUTO and not counts_every_name(find_oracle(parameters.oracle)):
            raise InvalidInput("oracle_cannot_discover", name=WalshHashing.name, oracle_name=parameters.oracle_name)
        if parameters.bits > MAX_CODE_BITS:
            raise InvalidInput("name_bits_too_many", max_code_bits=MAX_CODE_BITS, bits=parameters.bits)
        return Levels((0, parameters.bits), (len(self.listed),))

    @property
    def wire(self) -> PanoramaWire:  # type: ignore[override]
        """Return how codes and counts are written, which the list decides."""
        return PanoramaWire(self)

    @property
    def deployment(self) -> PanoramaDeployment:  # type: ignore[override]
        """Return what devices are told, which the list decides."""
        return PanoramaDeployment(panorama=self)

    @property
    def notes(self) -> PanoramaNotes:  # type: ignore[override]
        """Return what is said of names and list."""
        return PanoramaNotes(panorama=self)

    def expected_plan(self, parameters: PanoramaParameters) -> PanoramaPlan:
        """Return the plan for few parties, to speak of before they are known."""
        return PanoramaPlan.of(parameters, len(self.listed), signed=False, discovers=self.discovers, texts=self.texts)


@dataclass(frozen=True, eq=False)
class PartySupport:
    """Run by a party: S_j, what its reports of every kind support."""

    bits: int
    users: int
    oracle: FrequencyOracle[Any]
    reports: NameReports

    def _support(self, codes: Codes, support: Counts, reports: int) -> Support:
        return Support(self.bits, codes, support, reports, self.oracle, self.users)

    def of_codes(self, codes: Codes) -> Support:
        """Return S_0, among the reports of kind 0."""
        return self._support(codes, self.reports.support(codes), self.reports.kinds[0])

    def of_all_kinds(self, codes: Codes, chunks: Rows) -> Support:
        """Return F, among the reports of all kinds: the texts of the codes are known."""
        return self._support(codes, self.reports.text_support(codes, chunks), sum(self.reports.kinds))

    def of_chunks(self, codes: Codes) -> ChunkCounts:
        """Return the counts of S_j for every value of every chunk behind some codes."""
        counted = (
            self._support(codes, self.reports.chunk_support(codes, chunk).ravel(), reports)
            for chunk, reports in enumerate(self.reports.kinds[1:])
        )
        return ChunkCounts(tuple(support.quantised() for support in counted))

    def conspicuous(self, tau: float, counted: Codes) -> ConspicuousCodes:
        """Return U, without the codes that are counted anyway.

        Scores are those of `normal_scores`: among few reports a normal bound would let through every code.
        """
        reports = self.reports.kinds[0]
        r_0 = np.array([float(max(reports, 1))])

        def scores(support: Counts) -> Frequencies:
            return normal_scores(support, r_0, self.oracle.q)

        # The least support whose score reaches tau, by bisection; more than all reports where none does.
        least = 0
        above = reports + 1
        while least < above:
            middle = (least + above) // 2
            if scores(np.array([middle]))[0] >= tau:
                above = middle
            else:
                least = middle + 1
        if least > reports:
            return ConspicuousCodes.none(self.bits)
        codes, support = self.reports.above(least, counted)
        return ConspicuousCodes.of(codes, scores(support), tau, 1 << self.bits)


@dataclass(frozen=True, eq=False)
class ListReports:
    """Reports through an oracle for lists: they support the codes on one, or "none of these", and no others."""

    listed: Codes
    """Ascending."""
    tally: Tally

    @property
    def kinds(self) -> tuple[int, ...]:
        """Return the reports, all of kind 0."""
        return (self.tally.reports,)

    def support(self, codes: Codes) -> Counts:
        """Return how many reports support each of some codes; one that is not listed is "none of these"."""
        return self.tally.support[np.searchsorted(self.listed, codes)].astype(np.int64)

    def above(self, least: int, listed: Codes) -> tuple[Codes, Counts]:  # noqa: ARG002
        """Return no other codes: nobody reports any."""
        return listed[:0], np.empty(0, dtype=np.int64)

    def chunk_support(self, codes: Codes, chunk: int) -> Counts:  # noqa: ARG002
        """Return no support: nobody reports a chunk."""
        return np.zeros((len(codes), CHUNK_VALUES), dtype=np.int64)

    def text_support(self, codes: Codes, chunks: Rows) -> Counts:  # noqa: ARG002
        """Return the support of the codes: there are no chunks."""
        return self.support(codes)


@dataclass(frozen=True, eq=False)
class DiscoveredCodes:
    """R: codes on no list, whether noise would hardly show each, and its expected count at every party."""

    codes: Codes
    clear: NDArray[np.bool_]
    expected: Mapping[str, Frequencies]
