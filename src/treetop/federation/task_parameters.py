"""What a signed task means to its dialogues: mechanism, parameters and mode. The inverse of `server.planning`."""

from typing import Any

from treetop.errors import PeerViolation
from treetop.federation.task import DeviceTask
from treetop.federation.wire.item_lists import ItemList
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism, Mode, PublicItems
from treetop.mechanisms.registry import mechanism_named, parameters_for


def parameters_of(task: DeviceTask) -> Parameters:
    """Return the parameters of a task's mechanism; the inverse of `planned_task`."""
    mechanism: Mechanism[Parameters] = mechanism_named(task.mechanism)
    return parameters_for(mechanism, task.k, task.budget.text, task.oracle, dict(task.settings))


def mechanism_of(task: DeviceTask, listed: ItemList | None = None) -> Mechanism[Any]:
    """Return a task's mechanism over its items; `listed` is the list that the task names, if it names one."""
    if (task.item_list or None) != (listed and listed.digest):
        raise PeerViolation("list of the task", task.item_list or "none", listed.digest if listed else "none")
    items = PublicItems(task.encoding.name, task.chunks > 0)
    if listed is not None:
        items = PublicItems(task.encoding.name, task.chunks > 0, listed.items, listed.ordered)
    return mechanism_named(task.mechanism).over_items(parameters_of(task), items)


def mode_of(task: DeviceTask) -> Mode:
    """Return how the devices of a task are asked."""
    return "one-shot" if task.one_shot else "rounds"
