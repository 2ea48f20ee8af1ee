"""What the mechanisms say, as JSON: prefixes as hexadecimal texts, counts as whole numbers.

A party's counts travel as what they were computed from, the support among its reports: whoever reads them computes
count and error from the same whole numbers, and nothing that no report could give can be said.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.errors import InvalidInput
from treetop.federation.group_counts import read_groups
from treetop.federation.task import DeviceTask
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.requests import Findings, LevelTrace, Upload
from treetop.mechanisms.strict_json import code_texts, codes, decimal, decimals, optional, record, rows, text, whole
from treetop.mechanisms.summed_level import SharedCandidates
from treetop.mechanisms.taps import Continue
from treetop.trie.consensus_pruning import PruningCandidates
from treetop.trie.global_ranking import CountedPrefixes
from treetop.trie.quantised_counts import QuantisedCounts
from treetop.trie.user_groups import Group

MOST_TOLD = 1024
"""Traces and notes of one outcome, at most."""


def written_message(message: object) -> Any:
    """Run by the server: a mechanism's message to a party, as JSON."""
    match message:
        case None:
            return None
        case np.ndarray():
            return {"shared": code_texts(message)}
        case Continue():
            shared = None if message.shared is None else code_texts(message.shared)
            return {"shared": shared, "pruning": written_pruning(message.D), "author": message.author}
        case SharedCandidates():
            return {"prefixes": code_texts(message.prefixes), "share": message.share}
    raise InvalidInput(f"a federation cannot send {type(message).__name__}: this mechanism is for simulations")


def read_message(task: DeviceTask, parameters: Parameters, place: int, content: Any) -> object:
    """Run by the party: the server's message number `place`, from 1, of the mechanism's dialogue."""
    if task.mechanism == "canopy":
        return _read_candidates(task, place, content)
    if content is None:
        return None
    length = parameters.lengths[parameters.shared_levels]
    if task.mechanism == "taps":
        fields = record("message", content, {"shared", "pruning", "author"})
        shared = optional(codes, "shared prefixes", fields["shared"], length, task.bits, least=1)
        D = read_pruning(task, parameters, fields["pruning"])
        return Continue(shared, D, optional(text, "author", fields["author"]))
    return codes("shared prefixes", record("message", content, {"shared"})["shared"], length, task.bits, least=1)


def _read_candidates(task: DeviceTask, place: int, content: Any) -> SharedCandidates:
    length = task.lengths[min(place - 1, len(task.lengths) - 1)]
    fields = record("message", content, {"prefixes", "share"})
    prefixes = codes("prefixes", fields["prefixes"], length, task.bits)
    return SharedCandidates(prefixes, decimal("share", fields["share"], 0.0, 1.0))


def written_upload(upload: Upload, users: int, parameters: Parameters) -> Any:
    """Run by the party: an upload as JSON."""
    match upload:
        case CountedPrefixes():
            return written_counts(upload, users, parameters)
        case QuantisedCounts():
            deviation = None if upload.missing else upload.deviation
            return {"values": upload.values.tolist(), "deviation": deviation}
        case Findings():
            counted = written_counts(upload.heavy_hitters, users, parameters)
            return {"counted": counted, "pruning": written_pruning(upload.pruning)}
    raise InvalidInput(f"a federation cannot send {type(upload).__name__}: this mechanism is for simulations")


def written_counts(counted: CountedPrefixes, users: int, parameters: Parameters) -> Any:
    """Run by the party: c = n (s / r - q) / (p - q), told as s and r."""
    oracle = parameters.oracle_for(counted.domain - 1)
    shares = oracle.q + (oracle.p - oracle.q) * counted.counts / users
    support = np.rint(counted.reports * shares).astype(np.int64)
    return {
        "prefixes": code_texts(counted.prefixes), "support": support.tolist(),
        "reports": counted.reports, "domain": counted.domain,
    }  # fmt: skip


def written_pruning(D: Mapping[int, PruningCandidates]) -> Any:
    """Write D_i: the lists of every pruned level."""
    return {
        str(level): {
            "infrequent": code_texts(told.infrequent),
            "frequent": code_texts(told.frequent),
            "frequencies": told.frequencies.tolist(),
        }
        for level, told in D.items()
    }


def read_pruning(
    task: DeviceTask, parameters: Parameters, content: Any, shared: Codes | None = None
) -> dict[int, PruningCandidates]:
    """Read D_i: lists of 2k at most, for levels that are pruned, below the shared trie where there is one."""
    levels = {str(level): level for level in parameters.pruned_levels} if parameters.pruning else {}
    fields = record("pruning lists", content, set(levels) & set(content) if type(content) is dict else set())
    return {
        level: _read_lists(task, parameters, level, fields[name], shared)
        for name, level in levels.items()
        if name in fields
    }


def _read_lists(
    task: DeviceTask, parameters: Parameters, level: int, content: Any, shared: Codes | None
) -> PruningCandidates:
    fields = record("pruning list", content, {"infrequent", "frequent", "frequencies"})
    length, most = task.lengths[level], 2 * task.k
    infrequent, frequent = (
        codes(f"{name} prefixes", fields[name], length, task.bits, least=1, most=most)
        for name in ("infrequent", "frequent")
    )
    rows("infrequent prefixes", fields["infrequent"], len(frequent), len(frequent))
    above = largest_frequency(parameters, task, level)
    frequencies = decimals("frequencies", fields["frequencies"], len(frequent), -above, above)
    _require_below(np.concatenate([infrequent, frequent]), length, parameters, shared)
    return PruningCandidates(length, infrequent, frequent, frequencies)


def _require_below(prefixes: Codes, length: int, parameters: Parameters, shared: Codes | None) -> None:
    if shared is not None:
        step = length - parameters.lengths[parameters.shared_levels]
        known = set(shared.tolist())
        for prefix in prefixes.tolist():
            whole("prefix that the shared trie does not lead to", int(prefix >> step not in known), 0, 0)


def largest_frequency(parameters: Parameters, task: DeviceTask, level: int) -> float:
    """Return the largest estimate that any list of the level could give: all reports support one candidate.

    It grows with d under k-RR: the longest list decides, or the longest one that is asked by k-RR.
    """
    most = most_candidates(task, level)
    oracles = [
        parameters.oracle_for(max(1, min(most, most_by))) for most_by in (most, int(3 * parameters.epsilon.odds))
    ]
    return max((1 - oracle.q) / (oracle.p - oracle.q) for oracle in oracles)


def most_candidates(task: DeviceTask, level: int) -> int:
    """Return the candidates of a level at most: all prefixes of its length, or the task's longest list."""
    return min(1 << min(task.lengths[level], 40), task.most_slots - 1)


def written_trace(trace: LevelTrace) -> Any:
    """Write what happened at one level of a party."""
    return list(vars(trace).values())


def read_trace(task: DeviceTask, content: Any) -> LevelTrace:
    """Read what a party says about one of its levels."""
    level, length, candidates, reports, oracle, kept, note = rows("trace", content, 7, 7)
    most = task.most_slots
    return LevelTrace(
        whole("level", level, 1, len(task.lengths) - 1), whole("length", length, 0, task.bits),
        whole("candidates", candidates, 0, most), whole("reports", reports, 0, 1 << 53),
        text("oracle", oracle, 10), whole("kept", kept, 0, most), text("note", note),
    )  # fmt: skip


@dataclass(frozen=True)
class LevelReport:
    """What a party tells with every outcome: its levels, notes, and in rounds where its devices are."""

    traces: list[LevelTrace]
    notes: list[str]
    groups: dict[Group, int]
    implausible: int
    """Reports that no honest device sends, counted since the last outcome."""

    @classmethod
    def read(cls, task: DeviceTask, fields: Mapping[str, Any], devices: int) -> "LevelReport":
        """Read all of it, or refuse it."""
        traces = [read_trace(task, trace) for trace in rows("traces", fields["traces"], 0, MOST_TOLD)]
        notes = [text("note", note) for note in rows("notes", fields["notes"], 0, MOST_TOLD)]
        implausible = whole("implausible", fields["implausible"], 0, devices)
        return cls(traces, notes, read_groups(task, fields["groups"], devices), implausible)
