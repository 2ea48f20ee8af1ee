"""How many devices a party has in each group: written, read, and held against the weights of the task (T5)."""

from collections.abc import Mapping
from math import sqrt
from typing import Any

from treetop.federation.task import DeviceTask
from treetop.mechanisms.strict_json import require, rows, whole
from treetop.trie.user_groups import Group, Role

_ROLES = tuple(Role)
FLAGGED = 5.998
"""Standard deviations beyond which an honest party is found once in 10^9."""
LEAST_EXPECTED = 5.0
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
    devices, whole_weight = sum(groups.values()), sum(weights.values())
    expected = {group: devices * weight / whole_weight for group, weight in weights.items()}
    if len(expected) < 2 or min(expected.values()) < LEAST_EXPECTED:
        return False
    chi_square = sum((groups.get(group, 0) - mean) ** 2 / mean for group, mean in expected.items())
    return cube_root_score(chi_square, len(expected) - 1) > FLAGGED


def cube_root_score(chi_square: float, degrees: int) -> float:
    """Return how many standard deviations a chi-square variable is off, after Wilson and Hilferty."""
    variance = 2 / (9 * degrees)
    return float(((chi_square / degrees) ** (1 / 3) - (1 - variance)) / sqrt(variance))
