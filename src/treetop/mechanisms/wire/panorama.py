"""What server and parties of Panorama send each other, and how it is written and read, strictly.

The JSON calls codes `names`. Counts travel packed, in the number of bits that `bits` states. The reader computes s_i
from the number of reports, so a count that no reports could give is refused.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from treetop.encoding.bit_strings import Codes, code_array
from treetop.encoding.text_code import CHUNK_VALUES
from treetop.mechanisms.dialogue import Findings, Upload
from treetop.mechanisms.levels import Levels
from treetop.mechanisms.panorama.discovery import ConspicuousCodes
from treetop.mechanisms.panorama.parameters import MAX_ASKED, MAX_READ, SPARE, STEP, PanoramaParameters
from treetop.mechanisms.panorama.texts import ChunkCounts, Rows, chunk_rows
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.strict_json import (
    MESSAGE_HEAD,
    code_bytes,
    code_texts,
    codes,
    packed_bytes,
    packed_length,
    packed_text,
    record,
    require,
    rows,
    text,
    whole,
    wholes,
)
from treetop.mechanisms.wire.form import WireForm
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.walsh.device import no_name
from treetop.trie.quantised_counts import COUNT_BITS, LARGEST_UNARY, LARGEST_VALUE, QuantisedCounts, noise_deviation
from treetop.trie.significance import normal_scores
from treetop.trie.support import Estimates, Support

if TYPE_CHECKING:
    from treetop.mechanisms.panorama.algorithm import Panorama

ESCAPED_BITS = LARGEST_UNARY + 2 + COUNT_BITS
"""Of a count at most: the ones, a sign, the value."""
FEW_BYTES = 1 << 16
"""Of conspicuous codes, whatever the bits of a code."""


@dataclass(frozen=True, eq=False)
class FirstCounts:
    """Party to server: r_0 .. r_m, the counts of F for all listed items, and U."""

    kinds: tuple[int, ...]
    listed: QuantisedCounts
    others: ConspicuousCodes
    """U; empty where only the list is counted."""

    @property
    def bits(self) -> int:
        """Return the bits of all that is sent."""
        return len(self.kinds) * COUNT_BITS + self.listed.bits + self.others.bits

    def to_json(self) -> Any:
        """Run by the party."""
        return {
            "kinds": list(self.kinds),
            "listed": packed_text(self.listed.to_bytes()),
            "others": [len(self.others.codes), packed_text(self.others.to_bytes())],
        }


@dataclass(frozen=True, eq=False)
class CountsWanted:
    """Server to every party: A, codes on no list that are to be counted by the reports of kind 0."""

    codes: Codes

    def to_json(self) -> Any:
        """Run by the server."""
        return {"names": code_texts(self.codes)}


@dataclass(frozen=True, eq=False)
class ChunksWanted:
    """Server to every party: R, codes behind which all chunks are to be counted."""

    codes: Codes

    def to_json(self) -> Any:
        """Run by the server."""
        return {"names": code_texts(self.codes)}


@dataclass(frozen=True, eq=False)
class SupportWanted:
    """Server to every party: T and then Q, codes whose support is wanted; as many as there are rows are in T."""

    codes: Codes
    chunks: Rows
    """The chunks of the text of every code in T."""

    @classmethod
    def of_codes(cls, codes: Codes) -> "SupportWanted":
        """Ask for codes that are not hashes: all are in T, and their texts have no chunks."""
        return cls(codes, chunk_rows([b""] * len(codes), 0))

    @property
    def with_text(self) -> Codes:
        """Return T."""
        return self.codes[: len(self.chunks)]

    @property
    def without_text(self) -> Codes:
        """Return Q."""
        return self.codes[len(self.chunks) :]

    def to_json(self) -> Any:
        """Run by the server."""
        return {"names": code_texts(self.codes), "chunks": [row.tobytes().hex() for row in self.chunks]}


@dataclass(frozen=True, kw_only=True)
class PanoramaFindings(Findings):
    """Party to server: the support of T among reports of all kinds (`heavy_hitters`), of Q, and of users outside."""

    without_text: Support
    """Of Q, among reports of kind 0."""
    outside: Support
    """Of 1^b, which stands for users without a code."""

    @property
    def estimates(self) -> Estimates:
        """Return the counts of T, then those of Q."""
        return Estimates.joined([self.heavy_hitters.estimates, self.without_text.estimates])

    @property
    def bits(self) -> int:
        """Return 32 bits for each count: the server sent the codes."""
        return (len(self.heavy_hitters) + len(self.without_text) + len(self.outside)) * COUNT_BITS

    def to_json(self) -> Any:
        """Run by the party."""
        support = np.append(self.heavy_hitters.support, self.without_text.support)
        return {"support": support.tolist(), "outside": int(self.outside.support[0])}


def read_codes(content: Any, bits: int, most: int) -> Codes:
    """Run by the party: the codes of a message that has nothing else."""
    return codes("names", record("message", content, {"names"})["names"], bits, bits, most=most)


def read_support_wanted(content: Any, bits: int, chunks: int, most: int) -> SupportWanted:
    """Run by the party: codes, and the chunks of the first of them."""
    fields = record("message", content, {"names", "chunks"})
    wanted = codes("names", fields["names"], bits, bits, most=most)
    found = [_chunk_row(row, chunks) for row in rows("chunks", fields["chunks"], 0, len(wanted))]
    return SupportWanted(wanted, np.frombuffer(b"".join(found), dtype=np.uint8).reshape(len(found), chunks))


def _chunk_row(content: Any, chunks: int) -> bytes:
    digits = text("chunks of a text", content, 2 * chunks)
    known = len(digits) == 2 * chunks and set(digits) <= set("0123456789abcdef")
    require(known, "chunks of a text", f"{2 * chunks} hexadecimal digits", digits)
    return bytes.fromhex(digits)


@dataclass(frozen=True, eq=False)
class UploadReader:
    """Run by the server: what one party may say, from what is public and from what it has said before."""

    bits: int
    users: int
    oracle: FrequencyOracle[Any]
    signed: bool

    def first(self, content: Any, devices: Sequence[int], listed: Codes, tau: float | None) -> FirstCounts:
        """Read the first counts; without a tau there are no others.

        `devices` are those of every kind: there cannot be more reports, but a kind with too few is left out.
        """
        fields = record("first counts", content, {"kinds", "listed", "others"})
        said = rows("kinds", fields["kinds"], len(devices), len(devices))
        kinds = tuple(whole("reports", reports, 0, most) for reports, most in zip(said, devices, strict=True))
        counts = self.counts(fields["listed"], len(listed), sum(kinds))
        number, packed = rows("other names", fields["others"], 2, 2)
        taken = np.append(listed, code_array([no_name(self.bits)], self.bits))
        most = 0 if tau is None or not kinds[0] else (1 << self.bits) - len(np.unique(taken))
        others = self._conspicuous(packed, whole("number of other names", number, 0, most), kinds[0], tau or 0.0)
        known = np.intersect1d(others.codes, taken)
        require(not len(known), "other names", "none that are counted anyway", len(known))
        return FirstCounts(kinds, counts, others)

    def _conspicuous(self, content: Any, number: int, reports: int, tau: float) -> ConspicuousCodes:
        """Read U: no code higher above tau than all reports would lift it."""
        data = packed_bytes("other names", content, ((1 << self.bits) >> 2) + FEW_BYTES)
        found = ConspicuousCodes.from_bytes(data, number, self.bits)
        highest = normal_scores(np.array([reports]), np.array([float(max(reports, 1))]), self.oracle.q)
        most = max(0, round((float(highest[0]) - tau) / STEP))
        found_most = int(found.steps.max(initial=0))
        require(found_most <= most, "steps above tau", f"{most} at most", found_most)
        return found

    def counts(self, content: Any, codes: int, reports: int, *, signed: bool | None = None) -> QuantisedCounts:
        """Read the counts of a number of codes in the range that the reports can give; without any, nothing is sent."""
        signed = self.signed if signed is None else signed
        deviation = noise_deviation(self.users, reports, self.oracle)
        number = codes if reports else 0
        data = packed_bytes("counts", content, -(-number * ESCAPED_BITS // 8))
        found = QuantisedCounts.from_bytes(data, number, deviation, signed)
        largest = self.users * (1 - self.oracle.q) / (self.oracle.p - self.oracle.q)
        most = min(LARGEST_VALUE, round(2 * largest / deviation) + 1)
        values = np.abs(found.values)
        require(int(values.max(initial=0)) <= most, "counts", f"{most} steps at most", values.max(initial=0))
        return found

    def chunk_counts(self, content: Any, codes: int, kinds: Sequence[int]) -> ChunkCounts:
        """Read the counts of all values of every chunk behind a number of codes."""
        said = rows("chunks", record("chunk counts", content, {"chunks"})["chunks"], len(kinds) - 1, len(kinds) - 1)
        pairs = zip(said, kinds[1:], strict=True)
        return ChunkCounts(tuple(self.counts(each, codes * CHUNK_VALUES, n, signed=False) for each, n in pairs))

    def findings(self, content: Any, wanted: SupportWanted, kinds: Sequence[int]) -> PanoramaFindings:
        """Read the support of the codes that were asked for, and of the one for users without a code."""
        fields = record("last upload", content, {"support", "outside"})
        support = rows("support", fields["support"], len(wanted.codes), len(wanted.codes))
        T = len(wanted.with_text)
        Q = len(wanted.without_text)
        with_text = wholes("support", support[:T], T, 0, sum(kinds))
        without_text = wholes("support", support[T:], Q, 0, kinds[0])
        outside = whole("support", fields["outside"], 0, kinds[0])
        no_code = code_array([no_name(self.bits)], self.bits)
        return PanoramaFindings(
            self._counted(wanted.with_text, with_text, sum(kinds)),
            asked_for=True,
            without_text=self._counted(wanted.without_text, without_text, kinds[0]),
            outside=self._counted(no_code, [outside], kinds[0]),
        )

    def _counted(self, codes: Codes, support: list[int], reports: int) -> Support:
        return Support(self.bits, codes, np.array(support, dtype=np.int64), reports, self.oracle, self.users)


@dataclass(frozen=True)
class PanoramaWire(WireForm[PanoramaParameters]):
    """What Panorama sends in steps 1 to 4: first counts; A and its counts; R and its chunks; T, Q and their support."""

    panorama: "Panorama"

    def uploads(self, parameters: PanoramaParameters) -> int:
        """Return the first counts, those of others, the chunks, and the findings."""
        return 2 + self.panorama.discovers * (1 + self.panorama.texts)

    def max_message_bytes(self, parameters: PanoramaParameters) -> int:
        """Return the bytes of A, or of T and Q with their chunks."""
        code = code_bytes(parameters.bits)
        closing = self._most_wanted(parameters) * (code + 2 * parameters.text_chunks + 3)
        return MESSAGE_HEAD + max(MAX_ASKED * code, closing)

    def max_reply_bytes(self, parameters: PanoramaParameters, levels: Levels) -> int:
        """Return the bytes of the first counts, or of all chunks behind R."""
        first = packed_length(-(-len(self.panorama.listed) * ESCAPED_BITS // 8))
        first += packed_length(((1 << parameters.bits) >> 2) + FEW_BYTES)
        chunk = packed_length(-(-MAX_READ * CHUNK_VALUES * ESCAPED_BITS // 8))
        return MESSAGE_HEAD + max(first, parameters.text_chunks * (chunk + 3))

    def _most_wanted(self, parameters: PanoramaParameters) -> int:
        return parameters.k + SPARE + max(MAX_READ, parameters.k + SPARE)

    def encode_message(self, message: object) -> Any:
        """Run by the server: codes, and in step 4 the chunks of those with a text."""
        return None if message is None else cast(CountsWanted | ChunksWanted | SupportWanted, message).to_json()

    def decode_message(self, facts: PublicFacts[PanoramaParameters], content: Any) -> object:
        """Run by the party: nothing at first; then A, R, and T with Q."""
        number = len(facts.messages)
        bits = facts.parameters.bits
        if number == 0:
            return super().decode_message(facts, content)
        if number == self.uploads(facts.parameters) - 1:
            chunks = self.panorama.plan(facts.parameters, facts.roster).chunks
            return read_support_wanted(content, bits, chunks, self._most_wanted(facts.parameters))
        if number == 1:
            return CountsWanted(read_codes(content, bits, MAX_ASKED))
        return ChunksWanted(read_codes(content, bits, MAX_READ))

    def encode_upload(self, facts: PublicFacts[PanoramaParameters], upload: Upload) -> Any:
        """Run by the party: packed counts."""
        if isinstance(upload, FirstCounts):
            return upload.to_json()
        if isinstance(upload, ChunkCounts):
            return {"chunks": [packed_text(chunk.to_bytes()) for chunk in upload.chunks]}
        return {"counts": packed_text(cast(QuantisedCounts, upload).to_bytes())}

    def decode_upload(self, facts: PublicFacts[PanoramaParameters], content: Any) -> Upload:
        """Run by the server: the counts of the newest message's codes, in the range that reports can give."""
        reader = self._reader(facts)
        plan = self.panorama.plan(facts.parameters, facts.roster)
        if len(facts.messages) == 1:
            devices = [facts.max_reports.get(1 + kind, 0) for kind in range(len(plan.weights))]
            return reader.first(
                content, devices, self.panorama.listed.codes, plan.tau if self.panorama.discovers else None
            )
        kinds = cast(FirstCounts, facts.uploads[0]).kinds
        asked = facts.messages[-1]
        if isinstance(asked, CountsWanted):
            return reader.counts(record("counts", content, {"counts"})["counts"], len(asked.codes), kinds[0])
        return reader.chunk_counts(content, len(cast(ChunksWanted, asked).codes), kinds)

    def encode_findings(self, facts: PublicFacts[PanoramaParameters], findings: Findings) -> Any:
        """Run by the party: the support of every code that was asked for."""
        return cast(PanoramaFindings, findings).to_json()

    def decode_findings(self, facts: PublicFacts[PanoramaParameters], content: Any) -> Findings:
        """Run by the server: the support of every code that it asked for."""
        kinds = cast(FirstCounts, facts.uploads[0]).kinds
        return self._reader(facts).findings(content, cast(SupportWanted, facts.messages[-1]), kinds)

    def _reader(self, facts: PublicFacts[PanoramaParameters]) -> UploadReader:
        parameters = facts.parameters
        signed = parameters.rule(len(facts.roster.members)) == "sum"
        return UploadReader(parameters.bits, facts.member.users, self.panorama.oracle(parameters), signed)
