"""What a signed task means to its dialogues: mechanism, parameters, mode, codec. The inverse of `server.planning`."""

from treetop.encoding.item_codecs import ItemCodec, codec_named
from treetop.federation.task import DeviceTask
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism, Mode
from treetop.mechanisms.registry import mechanism_named, parameters_for


def parameters_of(task: DeviceTask) -> Parameters:
    """Return the parameters of a task's mechanism; the inverse of `planned_task`."""
    mechanism: Mechanism[Parameters] = mechanism_named(task.mechanism)
    return parameters_for(mechanism, task.k, task.budget.text, task.oracle, dict(task.settings))


def mode_of(task: DeviceTask) -> Mode:
    """Return how the devices of a task are asked."""
    return "one-shot" if task.one_shot else "rounds"


def codec_of(task: DeviceTask) -> ItemCodec:
    """Return what reads the codes of a task back."""
    return codec_named(task.encoding.name, task.bits, *filter(None, [task.encoding.hash_key]))
