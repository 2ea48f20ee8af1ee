"""Federations from what a user has: files, databases, tables in memory, mappings, or the word `syn`.

Tables end as columns `party`, `item` and optionally `users`, checked once, here; or, where users hold several items, as
`party`, the column of users' ids, `item` and optionally `count`. `histogram_rows` and `set_rows` are the way back.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from numpy.typing import NDArray

from treetop.datasets.columns import CodedTexts, Codes, whole_numbers, without_missing
from treetop.datasets.federation import (
    Federation,
    PartyItems,
    federation_from_mapping,
    federation_from_rows,
    notes_on_names,
    party_of_sets,
    refuse_unnamed_users,
)
from treetop.datasets.synthetic import synthetic
from treetop.datasets.table_files.options import ReadOptions
from treetop.datasets.table_files.reader import ReadTable, read_table
from treetop.datasets.user_sets import UserSets
from treetop.errors import InvalidInput
from treetop.whole_files import write_whole
from treetop.wording import Note

AS_IT_IS = ReadOptions()


def as_federation(
    data: Any, name: str = "data", *, user: str | None = None, rows_are_users: bool = False
) -> Federation:
    """Take a Federation, a path, {party: items}, or a pandas, polars, pyarrow or DuckDB table."""
    options = ReadOptions(user=user, rows_are_users=rows_are_users)
    if isinstance(data, str | Path):
        return federation_named([str(data)], options)
    if hasattr(data, "__arrow_c_stream__"):
        return federation_from_tables(name, [ReadTable(name, name, pa.table(data))], options)
    if user is not None:
        raise InvalidInput("user_column_of_mapping", user=user, name=type(data).__name__)
    if isinstance(data, Federation):
        return data
    if hasattr(data, "items"):
        return federation_from_mapping(data, name)
    raise InvalidInput("data_of_unknown_kind", name=type(data).__name__)


def federation_named(words: Sequence[str], options: ReadOptions = AS_IT_IS) -> Federation:
    """Return the federation of some files, or SYN for `syn`, `syn:SEED` and `syn:SEED:CONCENTRATION`."""
    if not any(word == "syn" or word.startswith("syn:") for word in words):
        return _loaded(words, options)
    if options.user is not None:
        raise InvalidInput("syn_without_users", user=options.user)
    if len(words) > 1:
        raise InvalidInput("syn_alone", words=", ".join(words))
    if words[0] == "syn":
        return synthetic()
    seed, colon, concentration = words[0].removeprefix("syn:").partition(":")
    if not (seed.isascii() and seed.isdigit()):
        raise InvalidInput("syn_seed", words=words[0])
    if not colon:
        return synthetic(int(seed))
    try:
        return synthetic(int(seed), float(concentration))
    except ValueError:
        raise InvalidInput("syn_concentration", words=words[0]) from None


def load(
    *paths: str | Path,
    user: str | None = None,
    rows_are_users: bool = False,
    item_column: str | None = None,
    party_column: str | None = None,
    users_column: str | None = None,
    drop_missing: bool = False,
    delimiter: str | None = None,
    file_encoding: str | None = None,
    query: str | None = None,
) -> Federation:
    """Read one federation from files with columns `party,item[,users]`, or from one file per party.

    Files are CSV (with any delimiter), TSV or JSON lines, also in .gz or .zst, Parquet or a folder of it, Arrow,
    Feather or Excel; or one is the URL of a database such as "sqlite:///shop.db", and `query` what it is asked. Columns
    of other names are named. A row without a value is refused, or left out and counted if `drop_missing`. With `user`,
    the column of users' ids, a user holds all items of her rows, and the columns are `party`, that one, `item` and
    optionally `count`. A column that looks like one must be named, unless `rows_are_users`.

    >>> import treetop
    >>> treetop.load("examples/coffee_shops.csv")
    Federation('coffee_shops': 4 parties, 97,004 users, 25 items)
    """
    options = ReadOptions(
        item_column, party_column, users_column, user, rows_are_users, drop_missing, delimiter, file_encoding, query
    )
    return _loaded(paths, options)


def _loaded(words: Sequence[str | Path], options: ReadOptions) -> Federation:
    if not words:
        raise InvalidInput("no_files")
    tables = [
        read_table(word, replace(options, progress=_part_of(options, number, len(words))))
        for number, word in enumerate(words)
    ]
    stems = [each.stem for each in tables if options.column("party", each.table.column_names) is None]
    for stem in stems:  # two files of one name would silently become one party
        if stems.count(stem) > 1:
            names = ", ".join(str(word) for word, each in zip(words, tables, strict=True) if each.stem == stem)
            raise InvalidInput("files_named_alike", names=names)
    return federation_from_tables("+".join(each.stem for each in tables), tables, options)


def _part_of(options: ReadOptions, number: int, files: int) -> Any:
    """Return the progress callback of one of several files."""
    return lambda rows, share: options.progress(rows, (number + share) / files)


MAX_SHOWN = 12
"""Columns that a message names."""
MAX_SHOWN_LETTERS = 40
"""Letters of each of their names."""
ITEM = "item"
PARTY = "party"
USERS = "users"
USER = "user"
COUNT = "count"


@dataclass(frozen=True, eq=False)
class NamedColumns:
    """A table, and the names of its columns of items, parties, users, user ids and counts."""

    source: str
    stem: str
    table: pa.Table
    names: dict[str, str]
    notes: tuple[Note, ...]

    @classmethod
    def of(cls, read: ReadTable, options: ReadOptions) -> "NamedColumns":
        """Find the columns, note the ignored ones, and leave out rows with gaps where the options ask for it."""
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
        """Return a column of texts; a table without a column of parties is one party, named after its file."""
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
    """Return the names of columns for a message: the first ones, quoted where white space would hide."""
    words = [name if name and name == name.strip() else repr(name) for name in names[:MAX_SHOWN]]
    words = [word if len(word) <= MAX_SHOWN_LETTERS else f"{word[:MAX_SHOWN_LETTERS]}…" for word in words]
    more = f" and {len(names) - MAX_SHOWN:,} others" if len(names) > MAX_SHOWN else ""
    return ", ".join(words) + more or "no columns"


def federation_from_tables(name: str, tables: list[ReadTable], options: ReadOptions = AS_IT_IS) -> Federation:
    """Join tables into one federation; a table without `party` is one party named after it."""
    if options.user is not None:
        return federation_of_sets(name, tables, options)
    for read in tables if not options.rows_are_users else ():
        refuse_unnamed_users(read.source, [each for each in read.table.column_names if each != options.item])
    columns = [NamedColumns.of(read, options) for read in tables]
    parties = CodedTexts.joined([each.texts(PARTY) for each in columns])
    items = CodedTexts.joined([each.texts(ITEM, any_bytes=options.any_items) for each in columns])
    # Where no table counts users, repeated rows are no surprise and need no note.
    counted = any(USERS in each.names for each in columns)
    users = np.concatenate([each.numbers(USERS, 0) for each in columns]) if counted else None
    try:
        federation = federation_from_rows(name, parties, items, users)
    except InvalidInput as refusal:
        raise InvalidInput("files_refused", read=", ".join(read.source for read in tables), refusal=refusal) from None
    notes = tuple(note for each in columns for note in each.notes)
    return replace(federation, notes=(*notes, *federation.notes, *notes_on_names(parties.texts.to_pylist())))


def federation_of_sets(name: str, tables: list[ReadTable], options: ReadOptions) -> Federation:
    """Gather the rows of tables by user; the tables are taken out of the list as they are read, to free their memory.

    A table without `party` is one party named after it. Parties, items and users are in the order of their names, so
    that rows in another order are the same federation.
    """
    notes: list[Note] = []
    parts: list[tuple[CodedTexts, CodedTexts, CodedTexts]] = []
    counts: list[NDArray[np.int64]] = []
    counted = any(COUNT in read.table.column_names for read in tables)
    while tables:
        columns = NamedColumns.of(tables.pop(0), options)
        notes += columns.notes
        parts.append((columns.texts(PARTY), columns.texts(USER), columns.texts(ITEM)))
        if counted:
            counts.append(columns.numbers(COUNT, 1))
        del columns
    of_parties, of_users, of_items = (CodedTexts.joined([part[index] for part in parts]) for index in range(3))
    del parts
    pa.default_memory_pool().release_unused()  # Arrow keeps the memory of the files' columns otherwise
    of_parties = of_parties.in_order()
    of_items = of_items.in_order()
    of_users = of_users.in_order(shorter_first=True)
    home = _homes(of_parties.codes, of_users.codes, of_parties.texts, of_users.texts)
    uses = np.concatenate(counts) if counted else None
    sets = UserSets.grouped(_by_party(home, of_users.codes), len(home), of_items.codes, uses)
    if repeated := len(of_items.codes) - len(sets.items):
        notes.append(Note("set_rows_merged", rows=repeated))
    ends = np.cumsum(np.bincount(home, minlength=len(of_parties.texts))).tolist()
    parties = tuple(
        _party(party_name, sets, first, end)
        for party_name, first, end in zip(of_parties.texts.to_pylist(), [0, *ends[:-1]], ends, strict=True)
    )
    notes += notes_on_names([party.name for party in parties])
    return Federation(name, of_items.texts.to_pylist(), parties, tuple(notes))


def _homes(parties_of: Codes, user_of: Codes, party_names: pa.Array, user_names: pa.Array) -> Codes:
    """Return every user's party; a user of two would answer, and spend her budget, twice."""
    home = np.zeros(len(user_names), dtype=np.int32)
    home[user_of] = parties_of
    if len(party_names) > 1 and (elsewhere := home[user_of] != parties_of).any():
        row = int(np.argmax(elsewhere))
        user = user_of[row]
        one = parties_of[row]
        two = home[user_of[row]]
        raise InvalidInput(
            "user_in_two_parties",
            user=user_names[user].as_py(),
            first=party_names[one].as_py(),
            second=party_names[two].as_py(),
        )
    return home


def _by_party(home: Codes, user_of: Codes) -> Codes:
    """Return the rows' users, numbered so that users of one party are consecutive."""
    if len(home) and not home.any():
        return user_of
    # In the smallest type that holds the parties: numpy sorts 8 and 16 bits by radix.
    order = np.argsort(home.astype(np.min_scalar_type(int(home.max()))), kind="stable")
    rank = np.empty(len(home), dtype=np.int32)
    rank[order] = np.arange(len(home), dtype=np.int32)
    return rank[user_of]


def _party(name: str, sets: UserSets, first: int, end: int) -> PartyItems:
    """Return the users from first to end as a party: their sets, and the number of holders of each item."""
    starts = sets.starts[first : end + 1]
    entries = slice(int(starts[0]), int(starts[-1]))
    counts = None if sets.counts is None else sets.counts[entries]
    return party_of_sets(name, UserSets(starts - starts[0], sets.items[entries], counts))


def histogram_rows(federation: Federation) -> pa.Table:
    """Return a federation as rows that `load` reads: `party`, `item` and `users`."""
    names = pa.array(federation.items, pa.string())
    parts = [
        pa.table(
            {
                "party": pa.array([party.name] * len(party.items), pa.string()),
                "item": names.take(pa.array(party.items)),
                "users": pa.array(party.users),
            }
        )
        for party in federation.parties
    ]
    return pa.concat_tables(parts)


def set_rows(federation: Federation) -> pa.Table:
    """Return a federation of sets as rows that `load` reads: party, user, item and, where it is known, count."""
    names = pa.array(federation.items, pa.string())
    parts = []
    before = 0
    counted = all(party.sets is not None and party.sets.counts is not None for party in federation.parties)
    for party in federation.parties:
        if (sets := party.sets) is None:
            raise AssertionError(f"party {party.name!r} holds no sets")
        users = np.repeat(np.arange(before, before + len(sets)), sets.sizes)
        before += len(sets)
        columns = {
            "party": pa.array([party.name] * len(users), pa.string()),
            USER: pa.array(users),
            "item": names.take(pa.array(sets.items)),
        }
        parts.append(pa.table(columns | ({"count": pa.array(sets.counts)} if counted else {})))
    return pa.concat_tables(parts)


def histogram_file(table: pa.Table) -> bytes:
    """Return such rows as a Parquet file."""
    file = pa.BufferOutputStream()
    pa.parquet.write_table(table, file, compression="zstd")
    content: bytes = file.getvalue().to_pybytes()
    return content


def write_histograms(table: pa.Table, path: Path) -> None:
    """Write a Parquet file whole or not at all."""
    write_whole(path, histogram_file(table))
