"""Options for reading a table: its columns, the form of its text, and the treatment of gaps."""

import codecs
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from treetop.errors import InvalidInput

Progress = Callable[[int, float], None]
"""Called with the number of rows read of a file, and the share of it that was read."""
TAB = "\t"
DELIMITERS = {"tab": TAB, "\\t": TAB, "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
ENCODINGS = ("utf-8", "utf-16", "latin-1", "cp1252")
"""The encodings that are offered; any text encoding of Python is accepted."""


@dataclass(frozen=True)
class ReadOptions:
    """The user's description of a table; a column that is None has its usual name, if it is there at all."""

    item: str | None = None
    party: str | None = None
    users: str | None = None
    user: str | None = None
    """The column of users' ids, where a user holds all items of her rows."""
    rows_are_users: bool = False
    drop_missing: bool = False
    delimiter: str | None = None
    encoding: str | None = None
    query: str | None = None
    """The query to a database."""
    any_items: bool = False
    """Whether an item may be any bytes or none, as on devices; bytes that are not UTF-8 become surrogates."""
    progress: Progress = lambda *_: None

    def __post_init__(self) -> None:
        if self.user is not None and self.rows_are_users:
            raise InvalidInput("user_column_and_rows", user=self.user)
        named = [name for name in (self.item, self.party, self.users, self.user) if name is not None]
        if len(set(named)) < len(named):
            raise InvalidInput("columns_named_alike", named=", ".join(named))
        if self.delimiter is not None and not _is_delimiter(self.separator or ""):
            raise InvalidInput("delimiter_malformed", delimiters=", ".join(DELIMITERS), delimiter=self.delimiter)
        if self.encoding is not None and not _is_text_encoding(self.encoding):
            raise InvalidInput("file_encoding_unknown", encoding=self.encoding, encodings=", ".join(ENCODINGS))

    @property
    def separator(self) -> str | None:
        """Return the character between two values, if one was named."""
        return None if self.delimiter is None else DELIMITERS.get(self.delimiter, self.delimiter)

    def column(self, kind: str, names: Iterable[str]) -> str | None:
        """Return the name of a table's column of `item`, `party`, `users` or `user`; None: it has none."""
        wanted: str | None = getattr(self, kind)
        if wanted is not None:
            return wanted
        return kind if kind in names and kind != "user" else None


def _is_delimiter(text: str) -> bool:
    return len(text) == 1 and text.isascii() and text not in '"\r\n\0'


def _is_text_encoding(name: str) -> bool:
    try:
        return bool(codecs.lookup(name)._is_text_encoding)
    except (LookupError, AttributeError, ValueError):
        return False
