"""What a signed task means to its dialogues: parameters, mode, codec. The inverse of `server.planning`."""

from typing import Literal

from treetop.encoding.item_codecs import ItemCodec, codec_named
from treetop.federation.task import DeviceTask
from treetop.mechanisms.parameters import Parameters
from treetop.privacy.epsilon import Epsilon

Mode = Literal["one-shot", "rounds"]
MODES: tuple[Mode, ...] = ("one-shot", "rounds")


def parameters_of(task: DeviceTask) -> Parameters:
    """Return what the dialogues of a task are told; the inverse of `planned_task`."""
    return Parameters(task.k, Epsilon(task.budget.text), task.oracle).with_settings(dict(task.settings))


def mode_of(task: DeviceTask) -> Mode:
    """Return how the devices of a task are asked."""
    return "one-shot" if task.one_shot else "rounds"


def codec_of(task: DeviceTask) -> ItemCodec:
    """Return what reads the codes of a task back."""
    return codec_named(task.encoding.name, task.bits, *filter(None, [task.encoding.hash_key]))
