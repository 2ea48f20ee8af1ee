"""How an item becomes the code that a task asks for: run by devices, and to read an answer."""

from collections.abc import Sequence

from treetop.encoding.item_codecs import HashedText, ItemCodec, ListedItems, codec_named
from treetop.errors import InvalidInput
from treetop.federation.task import DeviceTask


def codec_of(task: DeviceTask, listed: Sequence[str] = ()) -> ItemCodec:
    """Return the codec of a task; one over a catalogue needs the items of the list that the task names."""
    encoding = task.encoding
    key = tuple(filter(None, [encoding.hash_key]))
    if task.reports == "prefixes":
        return codec_named(encoding.name, task.bits, *key)
    if task.chunks:
        if encoding.name != HashedText.name:
            raise InvalidInput("text_chunks_without_hash", name=encoding.name)
        return HashedText(task.name_bits, encoding.hash_key, task.chunks)
    if encoding.name != ListedItems.name:
        return codec_named(encoding.name, task.name_bits, *key)
    codec = ListedItems(listed)
    if codec.bits != task.name_bits:
        raise InvalidInput("catalogue_bits", number=len(listed), bits=codec.bits, name_bits=task.name_bits)
    return codec


def steps_of(task: DeviceTask) -> tuple[str, ...]:
    """Return the steps that an item is put through before it becomes a code."""
    return tuple(filter(None, task.encoding.normalise.split(",")))


def needs_list(task: DeviceTask) -> bool:
    """Return whether a device needs the task's list: an item's code is its index there."""
    return task.reports == "names" and task.encoding.name == ListedItems.name
