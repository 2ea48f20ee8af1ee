"""What a power cut may leave on a disk: all that was flushed, and any part of what was written since (R20).

A traced program's system calls are replayed on a disk in memory. A write is safe once its file was flushed; until then
it may be there, be missing, or be torn at any sector, each apart from the others. Renaming and deleting files are taken
to happen at once, in order: journalling file systems do so.
"""

import random
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

SECTOR = 512
CALLS = "write,pwrite64,fsync,fdatasync,ftruncate,unlink,rename"
_LINE = re.compile(rb"\d+ +(\w+)\((.*)\) += \d+$")
_BEGUN, _ENDED = (
    re.compile(rb"(\d+ +\w+\(.*?),? *<unfinished \.\.\.>$"),
    re.compile(rb"(\d+) +<\.\.\. \w+ resumed>(.*)$"),
)
_FILE = re.compile(rb"\d+<([^>]*)>")


@dataclass
class Disk:
    """Files as they are on the platter, and writes that are on their way."""

    safe: dict[str, bytes] = field(default_factory=dict)
    pending: dict[str, list[tuple[int, bytes | None]]] = field(default_factory=lambda: defaultdict(list))

    def flush(self, name: str) -> None:
        self.safe[name] = applied(self.safe.get(name, b""), self.pending.pop(name, []))

    def move(self, old: str, new: str | None) -> None:
        content, waiting = self.safe.pop(old, b""), self.pending.pop(old, [])
        if new is not None:
            self.safe[new], self.pending[new] = content, waiting

    def after_a_cut(self, chance: random.Random) -> dict[str, bytes]:
        """Return one of the many states that a power cut may leave."""
        return {
            name: applied(self.safe.get(name, b""), surviving(self.pending.get(name, []), chance))
            for name in self.safe.keys() | self.pending.keys()
            if name in self.safe or chance.random() < 0.5
        }


def surviving(writes: list[tuple[int, bytes | None]], chance: random.Random) -> Iterator[tuple[int, bytes | None]]:
    """Yield the writes that made it: all, none, or each by the toss of a coin, some of them torn."""
    mood = chance.choice(["all", "none", "some", "some"])
    for place, data in writes:
        if mood == "all" or (mood == "some" and chance.random() < 0.5):
            torn = data is not None and mood == "some" and chance.random() < 0.3
            sectors = chance.randrange(len(data or b"") // SECTOR + 1)
            yield place, data[: sectors * SECTOR] if torn and data is not None else data


def applied(content: bytes, writes: Iterator[tuple[int, bytes | None]] | list[tuple[int, bytes | None]]) -> bytes:
    """Return a file after some writes; None stands for cutting it off (or growing it) there."""
    now = bytearray(content)
    for place, data in writes:
        if len(now) < place:
            now.extend(bytes(place - len(now)))
        if data is None:
            del now[place:]
        else:
            now[place : place + len(data)] = data
    return bytes(now)


def replayed(trace: bytes, folder: Path) -> Iterator[tuple[Disk, list[bytes]]]:
    """Yield the disk after every system call, and the lines written to standard output so far."""
    disk, told = Disk(), list[bytes]()
    for line in _whole_calls(trace):
        found = _LINE.match(line)
        if found:
            _apply(disk, told, found[1].decode(), found[2], folder)
            yield disk, told


def _whole_calls(trace: bytes) -> Iterator[bytes]:
    """Yield one line for each call, when it ended: a call of another thread may stand in the middle of one."""
    begun: dict[bytes, bytes] = {}
    for line in trace.splitlines():
        if opened := _BEGUN.match(line):
            begun[line.split(b" ", 1)[0]] = opened[1]
        elif ended := _ENDED.match(line):
            yield begun.pop(ended[1]) + ended[2]
        else:
            yield line


def _bytes(escaped: bytes) -> bytes:
    return bytes.fromhex(escaped.replace(rb"\x", b"").decode())


def _apply(disk: Disk, told: list[bytes], call: str, arguments: bytes, folder: Path) -> None:
    texts = [_bytes(text) for text in re.findall(rb'"([^"]*)"', arguments)]
    if call in {"unlink", "rename"}:
        names = [_name(text, folder) for text in texts]
        if names[0] is not None:
            disk.move(names[0], names[1] if call == "rename" else None)
        return
    opened = _FILE.match(arguments)
    name = _name(_bytes(opened[1]), folder) if opened and opened[1].startswith(rb"\x") else None
    if name is None:
        told += texts if arguments.startswith(b"1<") else []
    elif call in {"fsync", "fdatasync"}:
        disk.flush(name)
    elif call == "ftruncate":
        disk.pending[name].append((int(arguments.rpartition(b",")[2], 0), None))
    else:
        disk.pending[name].append((int(arguments.rpartition(b",")[2]) if call == "pwrite64" else 0, texts[0]))


def _name(path: bytes, folder: Path) -> str | None:
    """Return the name of a file in the folder; shared memory is not on the disk."""
    found = Path(path.decode())
    return found.name if found.parent == folder and not found.name.endswith("-shm") else None
