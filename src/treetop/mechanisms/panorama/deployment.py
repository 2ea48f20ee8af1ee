"""Panorama in a deployment: what devices draw, and how what is sent is written and read."""

from abc import abstractmethod
from typing import Any, cast

from treetop.encoding.text_code import CHUNK_BITS, CHUNK_VALUES
from treetop.mechanisms.dialogue import Findings, Roster, Upload
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
from treetop.mechanisms.panorama.plan import MAX_ASKED, MAX_READ, SPARE, PanoramaParameters, PanoramaPlan
from treetop.mechanisms.panorama.texts import ChunkCounts, ListedNames
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.strict_json import MESSAGE_HEAD, code_bytes, packed_length, packed_text, record
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.walsh import WalshHashing
from treetop.trie.party_counts import QuantisedCounts
from treetop.trie.user_groups import Group, GroupSizes

WHOLE_WEIGHT = 1 << 30
"""What the weights of all kinds of reports add up to in a task, nearly: they are whole numbers there."""


class DeployedNames(Mechanism[PanoramaParameters]):
    """All that a deployment asks of Panorama, whose dialogues are in `mechanism`."""

    listed: ListedNames
    discovers: bool
    texts: bool

    modes = ("one-shot",)
    reports_names = True
    tolerates_small_groups = True
    hashing_oracle = WalshHashing.name

    @abstractmethod
    def plan(self, parameters: PanoramaParameters, roster: Roster) -> PanoramaPlan:
        """Return what is public before the first report."""

    @abstractmethod
    def oracle(self, parameters: PanoramaParameters) -> FrequencyOracle[Any]:
        """Return how names are reported."""

    def task_lengths(self, parameters: PanoramaParameters) -> tuple[int, ...]:
        """Return the bits of a name, and of a name with its first chunks; refuse an oracle that cannot count them."""
        if self.discovers:
            oracle = self.oracle(parameters)
            oracle.every_name(parameters.bits, oracle.report_slots)
        b, chunks = parameters.bits, parameters.text_chunks if self.texts else 0
        return (0, *(b + CHUNK_BITS * chunk for chunk in range(chunks + 1)))

    def group_weights(self, parameters: PanoramaParameters) -> GroupSizes:
        """Return the weights of every kind of report, as whole numbers."""
        plan = PanoramaPlan.of(parameters, len(self.listed), signed=False, discovers=self.discovers, texts=self.texts)
        return {Group(1 + kind): round(WHOLE_WEIGHT * weight) for kind, weight in enumerate(plan.weights)}

    def max_message_bytes(self, parameters: PanoramaParameters) -> int:
        """Return the bytes of all names that are asked about, or of the closing round's with their chunks."""
        name = code_bytes(parameters.bits)
        closing = self._most_wanted(parameters) * (name + 2 * parameters.text_chunks + 3)
        return MESSAGE_HEAD + max(MAX_ASKED * name, closing)

    def max_reply_bytes(self, parameters: PanoramaParameters) -> int:
        """Return the bytes of the first counts, or of all chunks behind the names that are read."""
        first = packed_length(-(-len(self.listed) * ESCAPED_BITS // 8))
        first += packed_length(((1 << parameters.bits) >> 2) + FEW_BYTES)
        chunk = packed_length(-(-MAX_READ * CHUNK_VALUES * ESCAPED_BITS // 8))
        return MESSAGE_HEAD + max(first, parameters.text_chunks * (chunk + 3))

    def _most_wanted(self, parameters: PanoramaParameters) -> int:
        return parameters.k + SPARE + max(MAX_READ, parameters.k + SPARE)

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
        return ChunksWanted(read_names(content, bits, MAX_READ))

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
