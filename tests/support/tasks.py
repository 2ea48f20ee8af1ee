"""Tasks and questions that a device answers, for tests to break."""

from dataclasses import replace
from typing import Any

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.federation.device.group_assignment import Enrolment, assigned_group
from treetop.federation.device.ledger import Caps, Ledger
from treetop.federation.task import DeviceTask, WeightedGroup
from treetop.federation.wire.signed_documents import Publication, Question
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import Group, Role

ENROLMENT = Enrolment(b"somebody", b"beacon")
LENGTHS = (0, 2, 4, 6, 8)
GROUPS = tuple(WeightedGroup(Group(level), level) for level in (1, 2, 3, 4))


def task(oracle: str = "olh", epsilon: str = "1", name: str = "fruit", **changes: Any) -> DeviceTask:
    """Every task of the tests: four levels of two bits, open to everybody, unless a test says otherwise."""
    return replace(DeviceTask(name, "favourite", Budget(epsilon), oracle, 3, LENGTHS, GROUPS), **changes)


def in_one_group(oracle: str, group: Group, epsilon: str = "1", name: str = "fruit") -> DeviceTask:
    return replace(task(oracle, epsilon, name), groups=(WeightedGroup(group, 1),))


def third_level(oracle: str = "krr", epsilon: str = "1", name: str = "fruit") -> DeviceTask:
    return in_one_group(oracle, Group(3), epsilon, name)


PUBLISHED = Publication(4, (1, 5, 9, 15))
CHILDREN = tuple(4 * prefix + ending for prefix in PUBLISHED.prefixes for ending in range(4))


def question(of: DeviceTask) -> Question:
    """All sixteen children of the four published prefixes of level 2."""
    return Question(of.digest, assigned_group(of, ENROLMENT), 6, CHILDREN)


def validation(of: DeviceTask) -> Question:
    """A list of 2k = 6 that a neighbour names."""
    return Question(of.digest, Group(3, Role.VALIDATE_FREQUENT), 6, (4, 5, 20, 21, 36, 63))


def new_ledger(caps: Caps | None = None) -> Ledger:
    return Ledger(MemoryLedger(), MemoryCounter(), caps)
