"""The one thing that never leaves a device: its item, or the set of its items."""

from collections.abc import Iterator, Mapping
from typing import NoReturn

from treetop.errors import PromiseBroken
from treetop.federation.task import CHUNK_BITS, DeviceTask
from treetop.oracles.protocol import key_of
from treetop.oracles.walsh.device import chunk_key, no_name


class PrivateValue:
    """A code, or None for an item without one; it shows, compares and stores as nothing."""

    __slots__ = ("_code",)

    def __init__(self, code: int | None, bits: int) -> None:
        self._code = code if code is not None and 0 <= code < 1 << bits else None

    def __repr__(self) -> str:
        return "PrivateValue(redacted)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise PromiseBroken("private_value_copied")

    def prefix(self, bits: int, length: int) -> int | None:
        """Run by the device, after all randomness is drawn: the first bits, or None without a code."""
        return None if self._code is None else self._code >> (bits - length)

    def key(self, task: DeviceTask, level: int) -> int:
        """Run by the device, after all randomness is drawn: what it hashes at a level, where there is no list.

        Where names are reported, this is the name, or the key of a chunk behind it; a device without a code reports
        the same name at every level.
        """
        if task.reports == "prefixes":
            return key_of(self.prefix(task.bits, task.lengths[level]))
        if self._code is None:
            return no_name(task.name_bits)
        if level == 1:
            return self._code >> (task.bits - task.name_bits)
        last = (self._code >> (task.bits - task.lengths[level])) & ((1 << CHUNK_BITS) - 1)
        return chunk_key(self._code >> (task.bits - task.name_bits), level - 2, last, task.name_bits)


class PrivateSet(Mapping[bytes, int]):
    """The items of a device as bytes, each with the key that is hashed at a level; it shows and stores as nothing.

    A code is looked up, and its key computed, only for the items that a report speaks of.
    """

    __slots__ = ("_codes", "_level", "_task")

    def __init__(self, codes: Mapping[bytes, int | None], task: DeviceTask, level: int) -> None:
        self._codes = codes
        self._task = task
        self._level = level

    def __repr__(self) -> str:
        return "PrivateSet(redacted)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise PromiseBroken("private_set_copied")

    def __getitem__(self, item: bytes) -> int:
        return PrivateValue(self._codes[item], self._task.bits).key(self._task, self._level)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._codes)

    def __len__(self) -> int:
        return len(self._codes)
