"""Which column of a table is what, and its rows, with or without those that have a gap."""

import re
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treetop.datasets.columns import CodedTexts, whole_numbers, without_missing
from treetop.datasets.table_files.options import ReadOptions
from treetop.datasets.table_files.reader import ReadTable
from treetop.errors import InvalidInput
from treetop.wording import Note

MAX_SHOWN = 12
MAX_SHOWN_LETTERS = 40
"""Of the names of columns, in a message."""
ITEM = "item"
PARTY = "party"
USERS = "users"
USER = "user"
COUNT = "count"


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """A table and the names by which it calls what is asked for."""

    source: str
    stem: str
    table: pa.Table
    names: dict[str, str]
    notes: tuple[Note, ...]

    @classmethod
    def of(cls, read: ReadTable, options: ReadOptions) -> "NamedColumns":
        """Look for the columns, say which are ignored, and leave out rows with gaps if that is asked for."""
        table = read.table
        found = read.table.column_names
        kinds = (ITEM, PARTY, USERS) if options.user is None else (ITEM, PARTY, USER)
        names = {kind: name for kind in kinds if (name := options.column(kind, found)) is not None}
        names.setdefault(ITEM, ITEM)
        if options.user is not None and COUNT in found:
            names[COUNT] = COUNT
        _check_names(read.source, found, names, options)
        if table.num_rows == 0:
            raise InvalidInput("table_empty", source=read.source)
        notes = list(read.notes)
        if ignored := [column for column in found if column not in names.values()]:
            notes.append(Note("columns_ignored", file=read.source, columns=_shown(ignored)))
        table = table.select(list(names.values()))
        if options.drop_missing:
            kept = without_missing(table, list(names.values()))
            if left_out := table.num_rows - kept.num_rows:
                columns = list(names.values())
                notes.append(
                    Note("rows_left_out", file=read.source, left_out=left_out, rows=table.num_rows, columns=columns)
                )
            if kept.num_rows == 0:
                raise InvalidInput("rows_all_incomplete", source=read.source)
            table = kept
        return cls(read.source, read.stem, table, names, tuple(notes))

    def texts(self, kind: str, *, any_bytes: bool = False) -> CodedTexts:
        """Return a column of texts; where no party is named, the table is one, named after its file."""
        if kind not in self.names:
            return CodedTexts.same(self.stem, self.table.num_rows)
        name = self.names[kind]
        return CodedTexts.of(self.source, name, self.table[name], any_bytes=any_bytes)

    def numbers(self, kind: str, least: int) -> NDArray[np.int64]:
        """Return a column of whole numbers; where there is none, every row counts once."""
        if kind not in self.names:
            return np.ones(self.table.num_rows, dtype=np.int64)
        name = self.names[kind]
        what = f"a whole number of users from {least}" if kind == USERS else ""
        numbers: NDArray[np.int64] = whole_numbers(self.source, name, self.table[name], least, what)
        return numbers


def _check_names(source: str, found: list[str], names: dict[str, str], options: ReadOptions) -> None:
    user = options.user
    if user in (ITEM, PARTY, COUNT, USERS):
        raise InvalidInput("user_column_reserved", user=user)
    for name in names.values():
        if found.count(name) > 1:
            raise InvalidInput("column_repeated", source=source, name=name, times=found.count(name))
    if missing := [name for name in names.values() if name not in found]:
        if user is not None:
            wanted = f"the columns {user!r} and {names[ITEM]!r} (and 'party', 'count')"
        elif missing == [ITEM]:
            wanted = "the column 'item' (and 'party', 'users')"
        else:
            wanted = f"the column {missing[0]!r}"
        hint = "; --item-column (item_column=) names another" if ITEM in missing else ""
        if len(found) == 1 and re.search(r"\W", found[0].strip()):
            hint += "; --delimiter (delimiter=) says what stands between two values"
        raise InvalidInput("columns_missing", source=source, wanted=wanted, found=_shown(found), hint=hint)
    if user is not None and USERS in found and USERS not in names.values():
        raise InvalidInput("users_beside_user", source=source, user=user)


def _shown(names: list[str]) -> str:
    """Return the names of columns for a message: not all of very many, and with quotes if white space hides in one."""
    words = [name if name and name == name.strip() else repr(name) for name in names[:MAX_SHOWN]]
    words = [word if len(word) <= MAX_SHOWN_LETTERS else f"{word[:MAX_SHOWN_LETTERS]}…" for word in words]
    more = f" and {len(names) - MAX_SHOWN:,} others" if len(names) > MAX_SHOWN else ""
    return ", ".join(words) + more or "no columns"
