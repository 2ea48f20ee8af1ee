"""How much a file may hold: what a few bytes could otherwise make of the memory of the machine that reads them."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from treetop.errors import InvalidInput

MAX_COLUMNS = 10_000
MAX_NESTING = 100
"""Objects and lists within each other, in JSON."""
MAX_ROW = 8 << 20
"""Bytes of one row: a block of what is read holds one at least."""
USUAL_RATIO = 100
"""To what size compressed text grows at most; gzip itself reaches 1,032."""
ALWAYS_ALLOWED = 256 << 20
"""Decompressed bytes of any file, whatever their ratio."""


def check_columns(source: object, names: Sequence[str]) -> None:
    """Refuse a table of very many columns: a few at most are read."""
    if len(names) > MAX_COLUMNS:
        raise InvalidInput("too_many_columns", source=str(source), found=len(names), most=MAX_COLUMNS)


def most_decompressed(compressed: int) -> int:
    """Return how many bytes a file of that size may become."""
    return max(ALWAYS_ALLOWED, USUAL_RATIO * compressed)


def check_decompressed(source: object, compressed: int, decompressed: int) -> None:
    """Refuse a file that grows too much, where it says in advance what it becomes."""
    if decompressed > most_decompressed(compressed):
        raise InvalidInput("decompressed_too_large", source=str(source), most=most_decompressed(compressed))


_STRING = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?')
_OPENING = np.zeros(256, np.int8)
_OPENING[list(b"[{")] = 1
_OPENING[list(b"]}")] = -1


def check_nesting(source: object, lines: bytes) -> None:
    """Refuse JSON that is nested deeper than any table; Arrow's parser would overflow the stack and end the process."""
    depths = np.cumsum(_OPENING[np.frombuffer(_STRING.sub(b"", lines), np.uint8)], dtype=np.int64)
    if depths.size and (depths - np.minimum(np.minimum.accumulate(depths), 0)).max() > MAX_NESTING:
        raise InvalidInput("nested_too_deep", source=str(source), most=MAX_NESTING)


class CheckedLines:
    """A stream of JSON lines, none of them too long or nested too deep by the time that it is handed on."""

    def __init__(self, stream: Any, source: object) -> None:
        self._stream = stream
        self._source = source
        self._unfinished = b""
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """Read some bytes."""
        content: bytes = self._stream.read(size)
        lines = self._unfinished + content
        check_nesting(self._source, lines)
        self._unfinished = lines[lines.rfind(b"\n") + 1 :]
        if len(self._unfinished) > MAX_ROW:
            raise InvalidInput("row_too_long", source=str(self._source), most=MAX_ROW)
        return content

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def writable(self) -> bool:
        """Say that it cannot be written."""
        return False

    def seekable(self) -> bool:
        """Say that it is read from its beginning."""
        return False

    def close(self) -> None:
        """Leave the stream to whoever opened it."""
        self.closed = True


class Decompressed:
    """A stream of decompressed bytes that ends with an error where a file grows too much."""

    def __init__(self, stream: Any, source: object, compressed: int) -> None:
        self._stream = stream
        self._source = source
        self._most = most_decompressed(compressed)
        self._read = 0
        self.closed = False

    def read(self, size: int = -1) -> bytes:
        """Read some bytes; all of them are one more than allowed at most."""
        left = self._most + 1 - self._read
        content: bytes = self._stream.read(left if size < 0 else min(size, left))
        self._read += len(content)
        if self._read > self._most:
            raise InvalidInput("decompressed_too_large", source=str(self._source), most=self._most)
        return content

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def writable(self) -> bool:
        """Say that it cannot be written."""
        return False

    def seekable(self) -> bool:
        """Say that it is read from its beginning."""
        return False

    def close(self) -> None:
        """Close it."""
        self._stream.close()
        self.closed = True
