"""What a party says with every reply of the mechanism's dialogue: its levels, its notes, and where its devices are."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from treetop.federation.group_counts import read_groups, written_groups
from treetop.federation.task import DeviceTask
from treetop.mechanisms.dialogue import LevelTrace
from treetop.mechanisms.strict_json import rows, text, whole
from treetop.trie.user_groups import Group

MAX_ENTRIES = 1024
"""Traces and notes of one reply, at most."""


@dataclass(frozen=True)
class LevelReport:
    """What happened at a party since its last reply."""

    traces: list[LevelTrace]
    notes: list[str]
    groups: dict[Group, int]
    """Its devices in every group; one-shot tasks have them in the first reply and none here."""
    implausible: int
    """Reports that no honest device sends."""

    def to_json(self) -> dict[str, Any]:
        """Run by the party."""
        return {
            "traces": [list(vars(trace).values()) for trace in self.traces], "notes": self.notes,
            "implausible": self.implausible, "groups": written_groups(self.groups),
        }  # fmt: skip

    @classmethod
    def from_json(cls, task: DeviceTask, fields: Mapping[str, Any], devices: int) -> "LevelReport":
        """Run by the server: read all of it, or refuse it."""
        traces = [read_trace(task, trace) for trace in rows("traces", fields["traces"], 0, MAX_ENTRIES)]
        notes = [text("note", note) for note in rows("notes", fields["notes"], 0, MAX_ENTRIES)]
        implausible = whole("implausible", fields["implausible"], 0, devices)
        return cls(traces, notes, read_groups(task, fields["groups"], devices), implausible)


def read_trace(task: DeviceTask, content: Any) -> LevelTrace:
    """Run by the server: what a party says about one of its levels."""
    level, length, candidates, reports, oracle, kept, note = rows("trace", content, 7, 7)
    most = task.most_slots
    return LevelTrace(
        whole("level", level, 1, len(task.lengths) - 1), whole("length", length, 0, task.bits),
        whole("candidates", candidates, 0, most), whole("reports", reports, 0, 1 << 53),
        text("oracle", oracle, 10), whole("kept", kept, 0, most), text("note", note),
    )  # fmt: skip
