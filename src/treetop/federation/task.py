"""What everybody knows about a task before the first device answers; it never changes, a change is a new task."""

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from itertools import pairwise
from typing import Literal, cast, get_args

from treetop.errors import InvalidInput, UnknownName
from treetop.federation.budgets import Budget
from treetop.federation.thresholds import MOST_SLOTS, bucket_count
from treetop.trie.user_groups import Group, Role

OracleName = Literal["krr", "oue", "olh"]
ORACLE_NAMES: tuple[OracleName, ...] = get_args(OracleName)
LONGEST_CODE = 256
MOST_WEIGHT = 1 << 32
_TASK_DOMAIN = b"treetop task 1\0"


@dataclass(frozen=True)
class WeightedGroup:
    """A group of users and how many of all tickets lead to it."""

    group: Group
    weight: int


@dataclass(frozen=True)
class DeviceTask:
    """All that a device must know to answer; its digest names it."""

    name: str
    attribute: str
    """What is asked about: the lifetime cap counts all tasks of one attribute together."""
    budget: Budget
    oracle: OracleName
    k: int
    lengths: tuple[int, ...]
    """l_0 .. l_g: the prefix length of every level, from 0 to the bits of a code."""
    groups: tuple[WeightedGroup, ...]
    most_slots: int = MOST_SLOTS
    """d_max: no published list may be longer, the dummy counted."""

    def __post_init__(self) -> None:
        if self.oracle not in ORACLE_NAMES:
            raise UnknownName("oracle", self.oracle, ORACLE_NAMES)
        problems = [*_text_problems(self), *_length_problems(self), *_group_problems(self)]
        if problems:
            raise InvalidInput("a task cannot be asked: " + "; ".join(problems))

    @property
    def bits(self) -> int:
        """Return m, the bits of a code."""
        return self.lengths[-1]

    @property
    def one_shot(self) -> bool:
        """Return whether devices answer without a candidate list, each at a level of its own drawing."""
        return self.oracle == "olh"

    @property
    def bucket_count(self) -> int:
        """Return d' of OLH."""
        return bucket_count(self.budget)

    @cached_property
    def digest(self) -> bytes:
        """Return the 32 bytes that stand for this task in every envelope and ledger."""
        return sha256(_TASK_DOMAIN + self.canonical_bytes()).digest()

    def canonical_bytes(self) -> bytes:
        """Return the one way to write this task down: JSON with sorted keys, no spaces, integers and texts only."""
        groups = [[entry.group.level, entry.group.role.value, entry.weight] for entry in self.groups]
        content = {
            "attribute": self.attribute, "epsilon": self.budget.text, "groups": groups, "k": self.k,
            "lengths": list(self.lengths), "most_slots": self.most_slots, "name": self.name, "oracle": self.oracle,
        }  # fmt: skip
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode("ascii")

    @classmethod
    def from_canonical_bytes(cls, data: bytes) -> "DeviceTask":
        """Read a task back; anything but its one canonical form is refused."""
        try:
            task = _from_content(json.loads(data))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise InvalidInput(f"a task must be the JSON object that Treetop writes: {error}") from None
        if task.canonical_bytes() != data:
            raise InvalidInput("a task must be in its canonical form: sorted keys, no spaces, no other fields")
        return task


def _from_content(content: dict[str, object]) -> DeviceTask:
    groups = cast(list[tuple[int, str, int]], content["groups"])
    return DeviceTask(
        name=str(content["name"]), attribute=str(content["attribute"]), budget=Budget(str(content["epsilon"])),
        oracle=cast(OracleName, content["oracle"]), k=cast(int, content["k"]),
        lengths=tuple(cast(list[int], content["lengths"])),
        groups=tuple(WeightedGroup(Group(level, Role(role)), weight) for level, role, weight in groups),
        most_slots=cast(int, content["most_slots"]),
    )  # fmt: skip


def _whole(number: object, least: int, most: int) -> bool:
    return type(number) is int and least <= number <= most


def _text_problems(task: DeviceTask) -> list[str]:
    problems = [f"{name} must not be empty" for name in ("name", "attribute") if not getattr(task, name)]
    if not _whole(task.k, 1, MOST_SLOTS):
        problems.append(f"k must be a whole number of at least 1, found {task.k}")
    if not _whole(task.most_slots, 2, MOST_SLOTS):
        problems.append(f"most_slots must be from 2 to {MOST_SLOTS}, found {task.most_slots}")
    return problems


def _length_problems(task: DeviceTask) -> list[str]:
    lengths = task.lengths
    whole = len(lengths) > 1 and all(_whole(length, 0, LONGEST_CODE) for length in lengths)
    rising = whole and all(one < two for one, two in pairwise(lengths))
    return [] if rising and lengths[0] == 0 else ["lengths must rise from 0 to at most 256 bits"]


def _group_problems(task: DeviceTask) -> list[str]:
    problems: list[str] = []
    if len({entry.group for entry in task.groups}) != len(task.groups) or not task.groups:
        problems.append("groups must be distinct, and there must be one at least")
    if not all(_whole(entry.weight, 1, MOST_WEIGHT) for entry in task.groups):
        problems.append(f"weights must be whole numbers from 1 to {MOST_WEIGHT}")
    if not all(_whole(entry.group.level, 1, len(task.lengths) - 1) for entry in task.groups):
        problems.append("every group must be of a level that the task has")
    if task.one_shot and any(entry.group.role is not Role.ESTIMATE for entry in task.groups):
        problems.append("a task without candidate lists has no validation sets")
    return problems
