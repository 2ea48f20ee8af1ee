"""The groups of a task in tables."""

from treetop.adapters.relational.states import (
    CLOSED,
    OPEN,
    ROLES,
    GroupState,
    StoreState,
    TaskState,
    expected,
)
from treetop.adapters.relational.tables import Rows
from treetop.errors import InvalidInput
from treetop.trie.user_groups import Group

MOST_GROUPS = 1 << 23
"""A number of a group and a serial number make one 63-bit key."""


def groups_of(rows: Rows, task: TaskState) -> dict[Group, GroupState]:
    """Return every group of a task that was spoken of."""
    states = rows.states(GroupState, task.number)
    expected("groups", task.groups, len(states))
    return {state.group: state for state in states}


def new_group(rows: Rows, task: TaskState, group: Group) -> GroupState:
    """Return the state of a group of which nothing was said yet; the caller saves it."""
    store = rows.state(StoreState, 1)
    if store.groups >= MOST_GROUPS - 1:
        raise InvalidInput(f"a store has {MOST_GROUPS - 1} groups at most; begin a new one")
    rows.save(store._replace(groups=store.groups + 1))
    rows.save(task._replace(groups=task.groups + 1))
    return GroupState(store.groups + 1, task.number, group.level, ROLES.index(group.role))


def close(rows: Rows, task: TaskState, group: Group) -> GroupState:
    """Close a group, whether it has reports or not, and return it."""
    found = groups_of(rows, task).get(group) or new_group(rows, task, group)
    if found.state == OPEN:
        found = found._replace(state=CLOSED)
        rows.save(found)
        raise_epoch(rows)
    return found


def closed(rows: Rows, task: TaskState, group: Group) -> GroupState:
    """Return a group that is closed, or refuse one that may still change."""
    found = groups_of(rows, task).get(group)
    if found is None or found.state == OPEN:
        raise InvalidInput(f"{group} must be closed before its bodies are used")
    return found


def raise_epoch(rows: Rows) -> None:
    """A store that was restored from before this is older than what was published since, and shows."""
    store = rows.state(StoreState, 1)
    rows.save(store._replace(epoch=store.epoch + 1))
