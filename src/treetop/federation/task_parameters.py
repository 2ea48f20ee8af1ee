"""What a signed task means to its dialogues: mechanism, parameters and mode. The inverse of `server.planning`."""

from typing import Any

from treetop.encoding.item_codecs import ItemCatalogue
from treetop.errors import PeerViolation
from treetop.federation.task import DeviceTask
from treetop.federation.task_codec import codec_of
from treetop.federation.wire.item_lists import ItemList
from treetop.mechanisms.deployment import Mode
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import mechanism_named, parameters_for


def parameters_of(task: DeviceTask) -> Parameters:
    """Return the parameters of a task's mechanism; the inverse of `planned_task`."""
    mechanism: Mechanism[Parameters] = mechanism_named(task.mechanism)
    return parameters_for(mechanism, task.k, task.budget.text, task.oracle, settings_of(task))


def settings_of(task: DeviceTask) -> dict[str, str]:
    """Return the settings of a task's mechanism: those that it spells, and how many items a report speaks of."""
    items = 1 if task.sets is None else task.sets.items_per_user
    return dict(task.settings) | ({} if items == 1 else {"items_per_user": str(items)})


def known_items(listed: ItemList | None) -> ItemCatalogue | None:
    """Return the items of a list as those who choose a strategy have them."""
    return None if listed is None else ItemCatalogue(listed.items, (), listed.ordered, listed.source)


def mechanism_of(task: DeviceTask, listed: ItemList | None = None) -> Mechanism[Any]:
    """Return a task's mechanism over its items; `listed` is the list that the task names, if it names one."""
    if (task.item_list or None) != (listed and listed.digest):
        raise PeerViolation("list of the task", task.item_list or "none", listed.digest if listed else "none")
    if task.reports == "prefixes":
        return mechanism_named(task.mechanism)
    if task.mechanism != Panorama.name:
        raise PeerViolation("mechanism of a task that asks for names", Panorama.name, task.mechanism)
    words = () if listed is None else listed.items
    ordered = listed is not None and listed.ordered
    return Panorama.over(codec_of(task, words), words, ordered=ordered, chunks=task.chunks)


def mode_of(task: DeviceTask) -> Mode:
    """Return how the devices of a task are asked."""
    return "one-shot" if task.one_shot else "rounds"
