"""Federations from what a user has: files, databases, tables in memory, mappings, or the word `syn`.

Everything ends as columns `party`, `item` and optionally `users`, checked once, here.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from treetop.datasets.columns import CodedTexts
from treetop.datasets.federation import (
    Federation,
    federation_from_mapping,
    federation_from_rows,
    notes_on_names,
    refuse_unnamed_users,
)
from treetop.datasets.set_rows import federation_of_sets
from treetop.datasets.synthetic import synthetic
from treetop.datasets.table_files.named_columns import ITEM, PARTY, USERS, NamedColumns
from treetop.datasets.table_files.options import ReadOptions
from treetop.datasets.table_files.reader import ReadTable, read_table
from treetop.errors import InvalidInput
from treetop.whole_files import write_whole

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
    """Return who is told how far one of several files is."""
    return lambda rows, share: options.progress(rows, (number + share) / files)


def histogram_rows(federation: Federation) -> pa.Table:
    """Return a federation as rows of `party`, `item` and `users`: what `load` reads."""
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


def histogram_file(table: pa.Table) -> bytes:
    """Return such rows as a Parquet file."""
    file = pa.BufferOutputStream()
    pa.parquet.write_table(table, file, compression="zstd")
    content: bytes = file.getvalue().to_pybytes()
    return content


def write_histograms(table: pa.Table, path: Path) -> None:
    """Write a Parquet file whole or not at all."""
    write_whole(path, histogram_file(table))


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
