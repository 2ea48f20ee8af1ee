"""Panorama: every user reports her whole name once, and her one report counts for every name there can be.

A fast transform reads the support of all 2^b names from the reports, so that nothing is searched: one level, one shot.
Names on a public list are counted by all reports; names on no list are looked for among all that there can be, and
their texts are read from users who, whatever they hold, were drawn to report one chunk of their text behind its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes, code_array
from treetop.encoding.item_codecs import Hashed
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
from treetop.mechanisms.panorama.discovery import ConspicuousNames, most_conspicuous
from treetop.mechanisms.panorama.name_counts import NameCounts, SurveyedNames
from treetop.mechanisms.panorama.plan import (
    MAX_NAME_BITS,
    SPARE,
    CatalogueParameters,
    IdParameters,
    PanoramaParameters,
    PanoramaPlan,
    WholeNameParameters,
)
from treetop.mechanisms.panorama.ranking import ZETA, ClosingRound, Reporting
from treetop.mechanisms.panorama.texts import ChunkCounts, ListedNames, Texts, chunk_rows, spelt_texts
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.wire.panorama import (
    ChunksWanted,
    CountsWanted,
    FirstCounts,
    NameFindings,
    NamesWanted,
    PanoramaWire,
)
from treetop.oracles.frequency_oracle import Frequencies, FrequencyOracle
from treetop.oracles.name_reports import counts_every_name
from treetop.oracles.registry import AUTO, find_oracle, listed_oracle, oracle_named, set_form
from treetop.oracles.walsh import WalshHashing
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.global_ranking import GlobalRanking
from treetop.trie.lower_confidence import best_indices, scored
from treetop.trie.quantised_counts import QuantisedCounts
from treetop.trie.significance import threshold
from treetop.trie.user_groups import Group

EVERYBODY = 1.0


FAR_BELOW = 2.5
"""Standard deviations of a sum of whole names; reports of chunks move two names by 0.8 of them against each other."""


@dataclass(frozen=True, eq=False)
class OtherNames:
    """Server: the best names on no list, whether each is clear of noise, and how many hold it at every party."""

    names: Codes
    clear: NDArray[np.bool_]
    expected: Mapping[str, Frequencies]


def name_oracle(parameters: PanoramaParameters) -> FrequencyOracle[Any]:
    """Return the oracle that names are reported through: walsh, unless another is named."""
    name = WalshHashing.name if parameters.oracle == AUTO else parameters.oracle
    return oracle_named(set_form(name, parameters.items_per_user), parameters.epsilon, 1 << parameters.bits)


def catalogue_oracle(parameters: PanoramaParameters, size: int) -> FrequencyOracle[Any]:
    """Return the oracle for places in a catalogue: k-RR where that has the smaller variance, else that of names."""
    if parameters.items_per_user > 1:  # sets are hashed, however short the list
        return name_oracle(parameters)
    listed = listed_oracle(parameters.oracle, parameters.epsilon, size)
    return listed if listed.listed else name_oracle(parameters)


@dataclass(frozen=True, eq=False)
class Panorama(Mechanism[PanoramaParameters]):
    """The two dialogues, over a public list and, where it discovers, over all names that there can be."""

    listed: ListedNames = ListedNames.hashed([], Hashed(MAX_NAME_BITS), 0, ordered=False)  # noqa: RUF009  frozen
    discovers: bool = True
    texts: bool = True
    """Whether some users report a chunk of their text."""

    name = "panorama"
    reports_names = True

    @property
    def parameters(self) -> type[PanoramaParameters]:
        """Return the parameters, whose settings are those that make a difference to what is counted."""
        if self.is_catalogue:
            return CatalogueParameters
        if self.listed.texts is None:
            return IdParameters
        return PanoramaParameters if self.texts else WholeNameParameters

    @property
    def is_catalogue(self) -> bool:
        """Return whether names are places in a list, which speak for themselves, and no others are looked for."""
        return self.listed.texts is None and not self.discovers

    def plan(self, parameters: PanoramaParameters, roster: Roster) -> PanoramaPlan:
        """Return what is public before the first report."""
        signed = parameters.rule(len(roster.members)) == "sum"
        return PanoramaPlan.of(parameters, len(self.listed), signed=signed, discovers=self.discovers, texts=self.texts)

    def oracle(self, parameters: PanoramaParameters) -> FrequencyOracle[Any]:
        """Return the named oracle, or walsh, or k-RR for a catalogue so short that its variance is smaller."""
        return catalogue_oracle(parameters, len(self.listed)) if self.is_catalogue else name_oracle(parameters)

    def party(self, parameters: PanoramaParameters, roster: Roster, party: Member) -> Dialogue[Findings]:
        """Run by a party: ask everybody once, then count what the server asks about, ever fewer names."""
        plan, oracle, b = self.plan(parameters, roster), self.oracle(parameters), parameters.bits
        signed, nameless = parameters.rule(len(roster.members)) == "sum", code_array([(1 << b) - 1], b)
        reports = yield from self._reports(parameters, plan, oracle)
        counts = NameCounts(b, party.users, oracle, reports)
        listed = counts.by_all(self.listed.names, self.listed.chunks)
        others = ConspicuousNames.none(b)
        if self.discovers:
            others = counts.conspicuous(plan.tau, np.append(self.listed.names, nameless))
        yield from ask(TellServer(FirstCounts(reports.kinds, listed.quantised(signed), others)))
        if self.discovers:
            asked = yield from ask(HearServer[CountsWanted]())
            yield from ask(TellServer(counts.by_names(asked.names).quantised(signed)))
            if self.texts:
                unread = yield from ask(HearServer[ChunksWanted]())
                yield from ask(TellServer(counts.chunks(unread.names)))
        wanted = yield from ask(HearServer[NamesWanted]())
        kept, candidates = len(wanted.names), len(self.listed)
        yield from ask(Record(LevelTrace(1, b, candidates, sum(reports.kinds), oracle.name, kept)))
        with_text = len(wanted.chunks)
        known = counts.by_all(wanted.names[:with_text], wanted.chunks)
        hashes = counts.by_names(wanted.names[with_text:])
        own = np.argsort(-np.append(known.counts, hashes.counts), kind="stable")[: parameters.k]
        outside = counts.by_names(nameless)
        return NameFindings(known, asked_for=True, local=wanted.names[own], hashes=hashes, outside=outside)

    def _reports(
        self, parameters: PanoramaParameters, plan: PanoramaPlan, oracle: FrequencyOracle[Any]
    ) -> Dialogue[NameReports]:
        """Run by a party: ask everybody for her name, or, through an oracle for lists, for her place in a catalogue."""
        if not (self.is_catalogue and oracle.listed):
            return (yield from ask(CollectNames(parameters.bits, oracle, plan.weights)))
        yield from ask(DrawGroup(Group(1), EVERYBODY))
        domain = CandidateDomain(parameters.bits, self.listed.names)
        tally = yield from ask(CollectReports(Group(1), domain, oracle))
        return SurveyedNames(self.listed.names, tally)

    def server(self, parameters: PanoramaParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: the best listed names and the best others, read where they can be; the k best of all."""
        first = yield from ask(AskParties[FirstCounts](dict.fromkeys(roster.names)))
        kinds = {party: sent.kinds for party, sent in first.items() if sum(sent.kinds)}
        parties, rule = Reporting(roster, self.oracle(parameters), kinds), parameters.rule(len(roster.members))
        present, counts, variances = parties.table({party: sent.listed for party, sent in first.items()})
        best = np.empty(0, dtype=np.int64)
        if present and len(self.listed):
            best = self.listed.best_of_each(best_indices(counts, variances, ZETA, rule, 2 * (parameters.k + SPARE)))
        best = best[: parameters.k + SPARE]
        surely = scored(counts[best], variances, ZETA, rule).scores if len(best) else np.empty(0)
        read, others = self.listed.read(best), self.listed.names[:0]
        if self.discovers:
            found = yield from self._others(parameters, parties, first, surely)
            others = found.names
            if self.texts:
                sent = yield from ask(AskParties[ChunkCounts](dict.fromkeys(roster.names, ChunksWanted(others))))
                codec = Hashed(parameters.bits, parameters.hash_key)
                read |= spelt_texts(others, sent, found.expected, found.clear, codec)
        hashes = self.texts or self.listed.texts is not None
        wanted = self._wanted(parameters, roster, self.listed.names[best], others, read if hashes else None)
        findings = yield from ask(AskParties[NameFindings](dict.fromkeys(roster.names, wanted)))
        candidates = len(self.listed) + (1 << parameters.bits if self.discovers else 0)
        closing = ClosingRound(wanted.names, len(wanted.chunks), read if hashes else None, candidates)
        return parties.ranked(parameters, closing, findings)

    def _others(
        self, parameters: PanoramaParameters, parties: Reporting, first: Mapping[str, FirstCounts], listed: Frequencies
    ) -> Dialogue[OtherNames]:
        """Run by the server: have all parties count the most conspicuous names, and take the best of them.

        Those that lie far below the k-th best of all that will be shown for sure, listed names or clear of noise, are
        left out: reading their texts would not lift them above it.
        """
        plan, rule = self.plan(parameters, parties.roster), parameters.rule(len(parties.roster.members))
        sent = {
            party: said.others for party, said in first.items() if said.others is not None and party in parties.kinds
        }
        deviations = {party: parties.deviation(party, read=False) for party in sent}
        asked = most_conspicuous(sent, deviations, plan.tau, ZETA, plan.asked) if sent else self.listed.names[:0]
        answers = yield from ask(AskParties[QuantisedCounts](dict.fromkeys(parties.roster.names, CountsWanted(asked))))
        present, counts, variances = parties.table(answers)
        if not present:
            return OtherNames(asked[:0], np.zeros(0, dtype=np.bool_), {})
        best = np.sort(best_indices(counts, variances, ZETA, rule, plan.kept))
        z = threshold(len(present), 1 << parameters.bits, rule == "sum")
        scores, clear = (scored(counts[best], variances, level, rule).scores for level in (ZETA, z))
        shown = np.sort(np.append(listed, scores[clear > 0]))
        if len(shown) >= parameters.k:
            near = scores >= shown[-parameters.k] - FAR_BELOW * np.sqrt(variances.sum())
            best, clear = best[near], clear[near]
        return OtherNames(asked[best], clear > 0, {party: counts[best, place] for place, party in enumerate(present)})

    def _wanted(
        self, parameters: PanoramaParameters, roster: Roster, best: Codes, others: Codes, read: Texts | None
    ) -> NamesWanted:
        """Run by the server: names with a text first, which all reports count; names that are no hashes have none."""
        if read is None:
            names = np.sort(np.concatenate([best, others]))
            return NamesWanted(names, chunk_rows([b""] * len(names), 0))
        known = sorted(read)
        chunks = chunk_rows([read[name].text for name in known], self.plan(parameters, roster).chunks)
        unread = others[[name not in read for name in others.tolist()]]
        return NamesWanted(np.append(code_array(known, parameters.bits), unread), chunks)

    def levels(self, parameters: PanoramaParameters) -> Levels:
        """Return the one level, whole names; those on no list are counted at once, or refused where they cannot be."""
        if self.discovers and parameters.oracle != AUTO and not counts_every_name(find_oracle(parameters.oracle)):
            raise InvalidInput(
                f"names on no list are found through an oracle that counts every name, {WalshHashing.name}, found "
                f"{parameters.oracle_name}"
            )
        if parameters.bits > MAX_NAME_BITS:
            raise InvalidInput(
                f"names that are counted all at once have at most {MAX_NAME_BITS} bits, found bits = {parameters.bits}"
            )
        return Levels((0, parameters.bits), (len(self.listed),))

    @property
    def wire(self) -> PanoramaWire:  # type: ignore[override]
        """Return how names and counts are written, which the list decides."""
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
        return PanoramaPlan.of(
            parameters, len(self.listed), signed=False, discovers=self.discovers, texts=self.texts
        )  # fmt: skip
