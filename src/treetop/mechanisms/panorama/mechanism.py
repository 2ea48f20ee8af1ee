"""Panorama: every user reports her whole name once, and her one report counts for every name there can be.

A fast transform reads the support of all 2^b names from the reports, so that nothing is searched: one level, one shot.
Names on a public list are counted by all reports; names on no list are looked for among all that there can be, and
their texts are read from users who, whatever they hold, were drawn to report one chunk of their text behind its name.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import SHORTEST, Codes, code_array
from treetop.encoding.item_codecs import Hashed, Ids, codec_class
from treetop.encoding.listed_items import ListedItems
from treetop.encoding.text_code import CHUNK_BITS, CHUNK_VALUES
from treetop.errors import InvalidInput
from treetop.mechanisms.dialogue import (
    AskParties,
    CollectNames,
    Dialogue,
    Findings,
    HearServer,
    LevelTrace,
    Member,
    Record,
    Roster,
    TellServer,
    Upload,
    ask,
)
from treetop.mechanisms.panorama.discovery import ConspicuousNames, most_conspicuous
from treetop.mechanisms.panorama.messages import (
    ESCAPED_BITS,
    FEW_BYTES,
    ChunksWanted,
    CountsWanted,
    FirstCounts,
    NamesWanted,
    UploadReader,
    read_names,
    read_names_wanted,
    written_findings,
)
from treetop.mechanisms.panorama.name_counts import NameCounts
from treetop.mechanisms.panorama.plan import (
    MAX_ASKED,
    MAX_NAME_BITS,
    NAME_BITS,
    READ,
    PanoramaParameters,
    PanoramaPlan,
)
from treetop.mechanisms.panorama.ranking import ZETA, ClosingRound, Reporting
from treetop.mechanisms.panorama.texts import ChunkCounts, ListedNames, Texts, chunk_rows, spelt_texts
from treetop.mechanisms.protocol import Mechanism, Mode, PublicItems
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.strict_json import MESSAGE_HEAD, code_bytes, packed_length, packed_text, record
from treetop.oracles.frequency_oracle import Frequencies, FrequencyOracle
from treetop.oracles.registry import AUTO, oracle_named
from treetop.oracles.walsh import WalshHashing
from treetop.trie.global_ranking import COUNT_BITS, GlobalRanking
from treetop.trie.lower_confidence import best_places, scored
from treetop.trie.party_counts import QuantisedCounts
from treetop.trie.significance import threshold
from treetop.trie.user_groups import Group, GroupSizes

WHOLE_WEIGHT = 1 << 30
"""What the weights of all kinds of reports add up to in a task, nearly: they are whole numbers there."""


@dataclass(frozen=True, eq=False)
class OtherNames:
    """Server: the best names on no list, whether each is clear of noise, and how many hold it at every party."""

    names: Codes
    clear: NDArray[np.bool_]
    expected: Mapping[str, Frequencies]


@dataclass(frozen=True, eq=False)
class Panorama(Mechanism[PanoramaParameters]):
    """The two dialogues, over a public list and, where it discovers, over all names that there can be."""

    listed: ListedNames
    discovers: bool = True
    texts: bool = True
    """Whether some users report a chunk of their text."""

    name = "panorama"
    parameters = PanoramaParameters
    modes = ("one-shot",)
    reports_names = True
    tolerates_small_groups = True
    hashing_oracle = WalshHashing.name
    encodings = (Hashed.name, Ids.name, ListedItems.name)
    tiny_settings = {"bits": 8, "text_chunks": 1}  # noqa: RUF012

    def plan(self, parameters: PanoramaParameters, roster: Roster) -> PanoramaPlan:
        """Return what is public before the first report."""
        signed = parameters.rule(len(roster.members)) == "sum"
        return PanoramaPlan.of(parameters, len(self.listed), signed=signed, discovers=self.discovers, texts=self.texts)

    def oracle(self, parameters: PanoramaParameters) -> FrequencyOracle[Any]:
        """Return walsh, unless told."""
        name = WalshHashing.name if parameters.oracle == AUTO else parameters.oracle
        return oracle_named(name, parameters.epsilon, 1 << parameters.bits)

    def party(self, parameters: PanoramaParameters, roster: Roster, party: Member) -> Dialogue[Findings]:
        """Run by a party: ask everybody once, then count what the server asks about, ever fewer names."""
        plan, oracle, b = self.plan(parameters, roster), self.oracle(parameters), parameters.bits
        signed, nameless = parameters.rule(len(roster.members)) == "sum", code_array([(1 << b) - 1], b)
        reports = yield from ask(CollectNames(b, oracle, plan.weights))
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
        found, outside = counts.uploaded(wanted.names, wanted.chunks), counts.by_names(nameless).uploaded()
        return Findings(found, outside, local=found.prefixes[np.argsort(-found.counts, kind="stable")[: parameters.k]])

    def server(self, parameters: PanoramaParameters, roster: Roster) -> Dialogue[GlobalRanking]:
        """Run by the server: the best listed names and the best others, read where they can be; the k best of all."""
        first = yield from ask(AskParties[FirstCounts](dict.fromkeys(roster.names)))
        kinds = {party: sent.kinds for party, sent in first.items() if sum(sent.kinds)}
        parties, rule = Reporting(roster, self.oracle(parameters), kinds), parameters.rule(len(roster.members))
        present, counts, variances = parties.table({party: sent.listed for party, sent in first.items()})
        best = np.empty(0, dtype=np.int64)
        if present and len(self.listed):
            best = self.listed.best_of_each(best_places(counts, variances, ZETA, rule, 2 * (parameters.k + READ)))
        best = best[: parameters.k + READ]
        read, others = self.listed.read(best), self.listed.names[:0]
        if self.discovers:
            found = yield from self._others(parameters, parties, first)
            others = found.names
            if self.texts:
                sent = yield from ask(AskParties[ChunkCounts](dict.fromkeys(roster.names, ChunksWanted(others))))
                codec = Hashed(parameters.bits, parameters.hash_key)
                read |= spelt_texts(others, sent, found.expected, found.clear, codec)
        hashes = self.texts or self.listed.texts is not None
        wanted = self._wanted(parameters, roster, self.listed.names[best], others, read if hashes else None)
        findings = yield from ask(AskParties[Findings](dict.fromkeys(roster.names, wanted)))
        candidates = len(self.listed) + (1 << parameters.bits if self.discovers else 0)
        closing = ClosingRound(wanted.names, len(wanted.chunks), read if hashes else None, candidates)
        return parties.ranked(parameters, closing, findings)

    def _others(
        self, parameters: PanoramaParameters, parties: Reporting, first: Mapping[str, FirstCounts]
    ) -> Dialogue[OtherNames]:
        """Run by the server: have all parties count the most conspicuous names, and take the best of them."""
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
        number = READ if self.texts else parameters.k + READ
        best = np.sort(best_places(counts, variances, ZETA, rule, number))
        z = threshold(len(present), 1 << parameters.bits, rule == "sum")
        clear = scored(counts[best], variances, z, rule).scores > 0
        return OtherNames(asked[best], clear, {party: counts[best, place] for place, party in enumerate(present)})

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

    def lengths(self, parameters: PanoramaParameters) -> tuple[int, ...]:
        """Return the one level: whole names."""
        return (0, parameters.bits)

    def max_candidates(self, parameters: PanoramaParameters) -> tuple[int, ...]:
        """Return the length of the list: all other names are counted at once, or refused where they are too many."""
        if parameters.bits > MAX_NAME_BITS:
            raise InvalidInput(
                f"names that are counted all at once have at most {MAX_NAME_BITS} bits, found bits = {parameters.bits}"
            )
        return (len(self.listed),)

    def uploads(self, parameters: PanoramaParameters) -> int:  # noqa: ARG002
        """Return the first counts, those of others, the chunks, and the findings."""
        return 2 + self.discovers * (1 + self.texts)

    def choices(self, parameters: PanoramaParameters) -> tuple[str, ...]:
        """Say what was chosen and why, for the reader of an answer."""
        oracle = self.oracle(parameters).name
        share = f", {parameters.text_share:.0%} of users a part of its text" if self.texts else ""
        return (f"every user reports one of 2^{parameters.bits} names once by {oracle}{share}",)

    # A deployment's questions.

    def over_items(self, parameters: PanoramaParameters, items: PublicItems) -> "Panorama":
        """Return Panorama over places in a catalogue, over ids, or over hashed texts and a list of some of them."""
        nothing, oracle = ListedNames.codes(code_array([], parameters.bits)), self.oracle(parameters)
        if items.encoding == ListedItems.name:
            places = ListedNames.codes(code_array(range(len(items.listed)), parameters.bits))
            return replace(self, listed=places, discovers=False, texts=False)
        oracle.every_name(SHORTEST, oracle.report_slots)  # an oracle that cannot count them all refuses
        if not codec_class(items.encoding).hashes:
            return replace(self, listed=nothing, discovers=True, texts=False)
        texts = [item.encode("utf-8", errors="surrogatepass") for item in items.listed]
        chunks, codec = parameters.text_chunks if items.recovery else 0, Hashed(parameters.bits, parameters.hash_key)
        listed = ListedNames.hashed(texts, codec, chunks, ordered=items.ordered)
        return replace(self, listed=listed, discovers=True, texts=items.recovery)

    def task_lengths(self, parameters: PanoramaParameters) -> tuple[int, ...]:
        """Return the bits of a name, and of a name with its first chunks."""
        b, chunks = parameters.bits, parameters.text_chunks if self.texts else 0
        return (0, *(b + CHUNK_BITS * chunk for chunk in range(chunks + 1)))

    def group_weights(self, parameters: PanoramaParameters) -> GroupSizes:
        """Return the weights of every kind of report, as whole numbers."""
        plan = PanoramaPlan.of(parameters, len(self.listed), signed=False, discovers=self.discovers, texts=self.texts)
        return {Group(1 + kind): round(WHOLE_WEIGHT * weight) for kind, weight in enumerate(plan.weights)}

    def deployment_settings(self, settings: Mapping[str, object], *, mode: Mode, hashed: bool) -> dict[str, object]:
        """Take names of 24 bits unless told."""
        return {"bits": NAME_BITS, **super().deployment_settings(settings, mode=mode, hashed=hashed)}

    def max_message_bytes(self, parameters: PanoramaParameters) -> int:
        """Return the bytes of all names that are asked about, or of the closing round's with their chunks."""
        name = code_bytes(parameters.bits)
        closing = self._most_wanted(parameters) * (name + 2 * parameters.text_chunks + 3)
        return MESSAGE_HEAD + max(MAX_ASKED * name, closing)

    def max_reply_bytes(self, parameters: PanoramaParameters) -> int:
        """Return the bytes of the first counts, or of all chunks behind the names that are read."""
        first = packed_length(-(-len(self.listed) * ESCAPED_BITS // 8))
        first += packed_length(((1 << parameters.bits) >> 2) + FEW_BYTES)
        chunk = packed_length(-(-READ * CHUNK_VALUES * ESCAPED_BITS // 8))
        return MESSAGE_HEAD + max(first, parameters.text_chunks * (chunk + 3))

    def _most_wanted(self, parameters: PanoramaParameters) -> int:
        return 2 * (parameters.k + READ)

    def encode_message(self, message: object) -> Any:
        """Run by the server: names, and in the closing round the chunks of those that were read."""
        return None if message is None else cast(CountsWanted | ChunksWanted | NamesWanted, message).to_json()

    def decode_message(self, facts: PublicFacts[PanoramaParameters], content: Any) -> object:
        """Run by the party: nothing at first; then names to be counted, to be read, to be counted for good."""
        number, bits = len(facts.messages), facts.parameters.bits
        if number == 0:
            return super().decode_message(facts, content)
        if number == self.uploads(facts.parameters) - 1:
            chunks = self.plan(facts.parameters, facts.roster).chunks
            return read_names_wanted(content, bits, chunks, self._most_wanted(facts.parameters))
        if number == 1:
            return CountsWanted(read_names(content, bits, MAX_ASKED))
        return ChunksWanted(read_names(content, bits, READ))

    def encode_upload(self, facts: PublicFacts[PanoramaParameters], upload: Upload) -> Any:  # noqa: ARG002
        """Run by the party: packed counts."""
        if isinstance(upload, FirstCounts):
            return upload.to_json()
        if isinstance(upload, ChunkCounts):
            return {"chunks": [packed_text(chunk.to_bytes()) for chunk in upload.chunks]}
        return {"counts": packed_text(cast(QuantisedCounts, upload).to_bytes())}

    def decode_upload(self, facts: PublicFacts[PanoramaParameters], content: Any) -> Upload:
        """Run by the server: the counts of the newest message's names, in the range that reports can give."""
        reader, plan = self._reader(facts), self.plan(facts.parameters, facts.roster)
        if len(facts.messages) == 1:
            devices = [facts.max_reports.get(1 + kind, 0) for kind in range(len(plan.weights))]
            return reader.first(content, devices, self.listed.names, plan.tau if self.discovers else None)
        kinds, asked = cast(FirstCounts, facts.uploads[0]).kinds, facts.messages[-1]
        if isinstance(asked, CountsWanted):
            return reader.counts(record("counts", content, {"counts"})["counts"], len(asked.names), kinds[0])
        return reader.chunk_counts(content, len(cast(ChunksWanted, asked).names), kinds)

    def encode_findings(self, facts: PublicFacts[PanoramaParameters], findings: Findings) -> Any:
        """Run by the party: the support of every name that was asked for."""
        wanted = cast(NamesWanted, facts.messages[-1])
        return written_findings(findings, facts.member.users, self.oracle(facts.parameters), wanted)

    def decode_findings(self, facts: PublicFacts[PanoramaParameters], content: Any) -> Findings:
        """Run by the server: the support of every name that it asked for."""
        kinds = cast(FirstCounts, facts.uploads[0]).kinds
        return self._reader(facts).findings(content, cast(NamesWanted, facts.messages[-1]), kinds)

    def _reader(self, facts: PublicFacts[PanoramaParameters]) -> UploadReader:
        parameters = facts.parameters
        signed = parameters.rule(len(facts.roster.members)) == "sum"
        return UploadReader(parameters.bits, facts.member.users, self.oracle(parameters), signed)
