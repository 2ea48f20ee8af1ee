"""What a party reports with every reply: its levels and the devices of each group, compared with the task (T5)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Any

from treetop.federation.task import DeviceTask
from treetop.mechanisms.dialogue import LevelTrace
from treetop.mechanisms.strict_json import record, require, rows, text, whole
from treetop.trie.user_groups import Group, Role
from treetop.wording import Note

_ROLES = tuple(Role)
FLAGGED = 5.998
"""Standard deviations beyond which an honest party is found once in 10^9."""
MIN_EXPECTED = 5.0
"""In every group, for the chi-square law to hold."""


def written_groups(groups: Mapping[Group, int]) -> list[list[int]]:
    """Run by the party: rows of level, role's place and number."""
    return [[group.level, _ROLES.index(group.role), count] for group, count in groups.items()]


def read_groups(task: DeviceTask, content: Any, devices: int) -> dict[Group, int]:
    """Run by the server: groups of the task, each once, and not more devices in them than the party has."""
    known = {entry.group for entry in task.groups} | {Group(entry.group.level) for entry in task.groups}
    groups: dict[Group, int] = {}
    for entry in rows("groups", content, 0, len(known)):
        level, role, count = rows("group", entry, 3, 3)
        group = Group(whole("level", level, 1, len(task.lengths) - 1), _ROLES[whole("role", role, 0, 2)])
        require(group in known and group not in groups, "group", "one of the task, named once", group)
        groups[group] = whole("devices of a group", count, 0, devices)
    require(sum(groups.values()) <= devices, "devices of all groups", f"{devices} at most", sum(groups.values()))
    return groups


def devices_of_levels(groups: Mapping[Group, int]) -> dict[int, int]:
    """Return the devices of every level, all roles together."""
    levels: dict[int, int] = {}
    for group, devices in groups.items():
        levels[group.level] = levels.get(group.level, 0) + devices
    return levels


def weights_at(task: DeviceTask, party: str) -> dict[Group, int]:
    """Return the weights of a party's groups: in rounds the first party has no validation sets."""
    weights: dict[Group, int] = {}
    for entry in task.groups:
        group = entry.group if task.one_shot else task.group_at(party, entry.group)
        weights[group] = weights.get(group, 0) + entry.weight
    return weights


def is_biased(groups: Mapping[Group, int], weights: Mapping[Group, int]) -> bool:
    """Run by the server: whether groups are so uneven that an honest party would hardly have them (p < 10^-9).

    Chi-square against the weights, by the cube-root approximation to the normal law; with few devices nothing is told.
    """
    devices = sum(groups.values())
    whole_weight = sum(weights.values())
    expected = {group: devices * weight / whole_weight for group, weight in weights.items()}
    if len(expected) < 2 or min(expected.values()) < MIN_EXPECTED:
        return False
    chi_square = sum((groups.get(group, 0) - mean) ** 2 / mean for group, mean in expected.items())
    return cube_root_score(chi_square, len(expected) - 1) > FLAGGED


def cube_root_score(chi_square: float, degrees: int) -> float:
    """Return how many standard deviations a chi-square variable is off, after Wilson and Hilferty."""
    variance = 2 / (9 * degrees)
    return float(((chi_square / degrees) ** (1 / 3) - (1 - variance)) / sqrt(variance))


MAX_ENTRIES = 1024
"""Traces and notes of one reply, at most."""
MAX_PARAMETER = 1 << 40


def _number(what: str, content: Any) -> int:
    return whole(what, content, 0, MAX_PARAMETER)


def _numbers(what: str, content: Any) -> tuple[int, ...]:
    return tuple(_number(what, entry) for entry in rows(what, content, 0, MAX_ENTRIES))


PARTY_NOTES: Mapping[str, Mapping[str, Callable[[str, Any], Any]]] = {
    "chunks_left_out": {"chunks": _numbers, "least": _number},
    "group_left_out": {"levels": _numbers, "role": text, "reports": _number, "least": _number},
    "names_left_out": {"least": _number},
    "level_list_short": {"levels": _numbers, "prefixes": _number, "least": _number},
    "level_without_validation": {"levels": _numbers, "least": _number},
}
"""The notes that a party sends, and how each parameter is read."""


@dataclass(frozen=True)
class LevelReport:
    """What happened at a party since its last reply."""

    traces: list[LevelTrace]
    notes: list[Note]
    groups: dict[Group, int]
    """Its devices in every group; one-shot tasks have them in the first reply and none here."""
    implausible: int
    """Reports that no honest device sends."""

    def to_json(self) -> dict[str, Any]:
        """Run by the party."""
        return {
            "traces": [list(vars(trace).values()) for trace in self.traces],
            "notes": [{"code": note.code, "parameters": dict(note.parameters)} for note in self.notes],
            "implausible": self.implausible,
            "groups": written_groups(self.groups),
        }

    @classmethod
    def from_json(cls, task: DeviceTask, fields: Mapping[str, Any], devices: int) -> "LevelReport":
        """Run by the server: read all of it, or refuse it."""
        traces = [read_trace(task, trace, devices) for trace in rows("traces", fields["traces"], 0, MAX_ENTRIES)]
        notes = [read_note(note) for note in rows("notes", fields["notes"], 0, MAX_ENTRIES)]
        implausible = whole("implausible", fields["implausible"], 0, devices)
        return cls(traces, notes, read_groups(task, fields["groups"], devices), implausible)


def read_note(content: Any) -> Note:
    """Run by the server: one of the notes that parties send, with parameters of the right kinds.

    The server words it, so a party cannot put a sentence of its own into an answer.
    """
    fields = record("note", content, {"code", "parameters"})
    code = text("code of a note", fields["code"])
    require(code in PARTY_NOTES, "code of a note", f"one of {', '.join(PARTY_NOTES)}", code)
    kinds = PARTY_NOTES[code]
    parameters = record(f"parameters of {code}", fields["parameters"], set(kinds))
    return Note(code, **{name: read(name, parameters[name]) for name, read in kinds.items()})


def read_trace(task: DeviceTask, content: Any, devices: int) -> LevelTrace:
    """Run by the server: what a party says about one of its levels."""
    level, length, candidates, reports, oracle, kept, note = rows("trace", content, 7, 7)
    most = task.max_slots
    return LevelTrace(
        whole("level", level, 1, len(task.lengths) - 1),
        whole("length", length, 0, task.bits),
        whole("candidates", candidates, 0, most),
        whole("reports", reports, 0, devices),
        text("oracle", oracle, 10),
        whole("kept", kept, 0, most),
        text("note", note),
    )
