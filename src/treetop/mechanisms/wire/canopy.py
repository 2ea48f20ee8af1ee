"""What Canopy sends: the server's candidates of every level, the parties' counts of them, and signed counts last."""

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.mechanisms.dialogue import Findings, Upload
from treetop.mechanisms.public_facts import PublicFacts, decode_counts
from treetop.mechanisms.strict_json import (
    MESSAGE_HEAD,
    code_bytes,
    code_texts,
    codes,
    decimal,
    record,
    require,
    rows,
    whole,
    wholes,
)
from treetop.mechanisms.summed_level import SharedCandidates
from treetop.mechanisms.wire.form import WireForm
from treetop.trie.quantised_counts import FINEST, LARGEST_VALUE, QuantisedCounts

if TYPE_CHECKING:
    from treetop.mechanisms.canopy import CanopyParameters

SLACK = 1e-5
"""How far a deviation, sent in 32 bits, may be from the one that a whole number of reports gives."""


class CanopyWire(WireForm["CanopyParameters"]):
    """A message is `SharedCandidates`, an upload `QuantisedCounts`."""

    def uploads(self, parameters: "CanopyParameters") -> int:
        """Return L + 1: every level, and the closing round."""
        return parameters.plan.L + 1

    def max_message_bytes(self, parameters: "CanopyParameters") -> int:
        """Return the bytes of t prefixes, or of k in the closing round."""
        return MESSAGE_HEAD + max(parameters.plan.kept, parameters.k) * code_bytes(parameters.bits)

    def encode_message(self, message: object) -> Any:
        """Run by the server: the prefixes that go on, and the share of users who join."""
        candidates = cast(SharedCandidates, message)
        return {"prefixes": code_texts(candidates.prefixes), "share": candidates.share}

    def decode_message(self, facts: PublicFacts["CanopyParameters"], content: Any) -> SharedCandidates:
        """Run by the party: prefixes of the level before, in the closing round those of the last level."""
        length = facts.lengths[min(len(facts.messages), facts.last_level)]
        fields = record("message", content, {"prefixes", "share"})
        prefixes = codes("prefixes", fields["prefixes"], length, facts.parameters.bits)
        return SharedCandidates(prefixes, decimal("share", fields["share"], 0.0, 1.0))

    def encode_upload(self, facts: PublicFacts["CanopyParameters"], upload: Upload) -> Any:
        """Run by the party: counts in steps of half a deviation."""
        counts = cast(QuantisedCounts, upload)
        return {"values": counts.values.tolist(), "deviation": None if counts.missing else counts.deviation}

    def decode_upload(self, facts: PublicFacts["CanopyParameters"], content: Any) -> QuantisedCounts:
        """Run by the server: counts of all candidates of the newest level, in the range that reports can give."""
        fields = record("counts", content, {"values", "deviation"})
        level = len(facts.messages)
        signed = facts.parameters.score == "sum"
        if fields["deviation"] is None:
            return QuantisedCounts.of(np.array(rows("values", fields["values"], 0, 0)), np.inf, signed)
        deviation = decode_deviation(facts, level, fields["deviation"])
        candidates = candidates_of(facts, level)
        oracle = facts.parameters.oracle_for(candidates)
        largest = facts.member.users * (1 - oracle.q) / (oracle.p - oracle.q)
        most = min(LARGEST_VALUE, round(2 * largest / deviation) + 1)
        values = wholes("values", fields["values"], candidates, -most if signed else 0, most)
        return QuantisedCounts(np.array(values, dtype=np.int64), deviation, signed)

    def decode_findings(self, facts: PublicFacts["CanopyParameters"], content: Any) -> Findings:
        """Run by the server: the signed counts that it asked for, among the candidates of the last level."""
        fields = record("last upload", content, {"counted", "pruning"})
        asked = cast(SharedCandidates, facts.messages[-1]).prefixes
        slots = candidates_of(facts, facts.last_level) + 1
        counted = decode_counts(facts, facts.last_level, fields["counted"], asked=asked, slots=slots)
        record("pruning lists", fields["pruning"], set())
        return Findings(counted, asked_for=True)

    def published_prefixes(self, facts: PublicFacts["CanopyParameters"]) -> Codes:
        """Run by the server: the prefixes that it named, and no others."""
        return cast(SharedCandidates, facts.messages[-1]).prefixes


def candidates_of(facts: PublicFacts["CanopyParameters"], level: int) -> int:
    """Return how many candidates a level has: all children of the prefixes that the server named; last, the seeds."""
    named = cast(SharedCandidates, facts.messages[level - 1]).prefixes
    return len(facts.parameters.plan.candidates(named, level))


def decode_deviation(facts: PublicFacts["CanopyParameters"], level: int, content: Any) -> float:
    """Run by the server: s_i, which a whole number of reports, not more than the level has devices, must explain."""
    what = "deviation"
    users = facts.member.users
    oracle = facts.parameters.oracle_for(candidates_of(facts, level))
    one = users * float(np.sqrt(oracle.variance(0.0, 1)))
    deviation = decimal(what, content, FINEST * users * (1 - SLACK), one * (1 + SLACK))
    require(deviation == float(np.float32(deviation)), what, "a number of 32 bits", content)
    devices = facts.max_reports.get(level, 0)
    most = devices + 1 + int(devices * 2 * SLACK)  # rounding a deviation to 32 bits may move the explanation
    reports = whole("reports that explain a deviation", round((one / deviation) ** 2), 1, most)
    explained = max(one / reports**0.5, FINEST * users)
    require(abs(explained / deviation - 1) <= SLACK, what, f"{explained:g} or what another number gives", content)
    return deviation
