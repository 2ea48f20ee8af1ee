"""Limits on files: without them, a few bytes could fill the memory of the machine that reads them."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from treetop.errors import InvalidInput

MAX_COLUMNS = 10_000
MAX_NESTING = 100
"""Depth of objects and lists in JSON; a table needs one or two."""
MAX_ROW = 8 << 20
"""Bytes of one row: a block that is read holds at least one."""
USUAL_RATIO = 100
"""Decompressed bytes for each compressed one that text may have; gzip can reach 1,032."""
ALWAYS_ALLOWED = 256 << 20
"""Decompressed bytes that any file may have, at any ratio."""


def check_columns(source: object, names: Sequence[str]) -> None:
    """Refuse a table of very many columns, of which only a few are read."""
    if len(names) > MAX_COLUMNS:
        raise InvalidInput("too_many_columns", source=str(source), found=len(names), most=MAX_COLUMNS)


def most_decompressed(compressed: int) -> int:
    """Return the number of decompressed bytes that a file of that size may have."""
    return max(ALWAYS_ALLOWED, USUAL_RATIO * compressed)


def check_decompressed(source: object, compressed: int, decompressed: int) -> None:
    """Refuse a file that grows too much, where its decompressed size is declared in advance."""
    if decompressed > most_decompressed(compressed):
        raise InvalidInput("decompressed_too_large", source=str(source), most=most_decompressed(compressed))


_STRING = re.compile(rb'"[^"\\\n]*(?:\\.[^"\\\n]*)*"?')
_OPENING = np.zeros(256, np.int8)
_OPENING[list(b"[{")] = 1
_OPENING[list(b"]}")] = -1


def check_nesting(source: object, lines: bytes) -> None:
    """Refuse JSON that is nested deeper than any table; Arrow's parser would overflow the stack and end the process."""
    # Texts are removed first, whose brackets open nothing; the depth is measured from the lowest point so far, because
    # a block may begin inside an object.
    depths = np.cumsum(_OPENING[np.frombuffer(_STRING.sub(b"", lines), np.uint8)], dtype=np.int64)
    if depths.size and (depths - np.minimum(np.minimum.accumulate(depths), 0)).max() > MAX_NESTING:
        raise InvalidInput("nested_too_deep", source=str(source), most=MAX_NESTING)


class CheckedLines:
    """A stream of JSON lines that is checked for long and deeply nested lines before it is passed on."""

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
        """Return True: it can be read."""
        return True

    def writable(self) -> bool:
        """Return False: it cannot be written."""
        return False

    def seekable(self) -> bool:
        """Return False: it is read from its beginning."""
        return False

    def close(self) -> None:
        """Leave the stream to the caller, who opened it."""
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
        """Read some bytes: in all, at most one more than allowed, which shows that there are too many."""
        left = self._most + 1 - self._read
        content: bytes = self._stream.read(left if size < 0 else min(size, left))
        self._read += len(content)
        if self._read > self._most:
            raise InvalidInput("decompressed_too_large", source=str(self._source), most=self._most)
        return content

    def readable(self) -> bool:
        """Return True: it can be read."""
        return True

    def writable(self) -> bool:
        """Return False: it cannot be written."""
        return False

    def seekable(self) -> bool:
        """Return False: it is read from its beginning."""
        return False

    def close(self) -> None:
        """Close it."""
        self._stream.close()
        self.closed = True
