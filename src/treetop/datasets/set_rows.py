"""Federations of users who hold many items, from rows of party, user, item and optionally count."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treetop.datasets.federation import Federation, PartyItems, party_of_sets, text_of, whole_numbers
from treetop.datasets.user_sets import UserSets
from treetop.errors import InvalidInput

Codes = NDArray[np.int32]
USER = "user"
"""The column of users in the rows that are written here."""


def federation_of_sets(name: str, tables: list[tuple[str, pa.Table]], user: str) -> Federation:
    """Gather the rows of tables by user; the tables are taken out of the list as they are read, to free their memory.

    A table without `party` is one party named after it.
    """
    notes: list[str] = []
    parts: list[tuple[Codes, Codes, Codes]] = []
    dictionaries: list[tuple[pa.Array, pa.Array, pa.Array]] = []
    counts: list[NDArray[np.int64]] = []
    counted = any("count" in table.column_names for _, table in tables)
    while tables:
        source, table = tables.pop(0)
        _check_columns(source, table, user)
        if ignored := [column for column in table.column_names if column not in ("party", "item", "count", user)]:
            notes.append(f"{source}: ignored the columns {', '.join(ignored)}")
        named = "party" in table.column_names
        party = coded_text(source, "party", table["party"]) if named else _one_party(source, table.num_rows)
        columns = party, coded_text(source, user, table[user]), coded_text(source, "item", table["item"])
        parts.append((columns[0][0], columns[1][0], columns[2][0]))
        dictionaries.append((columns[0][1], columns[1][1], columns[2][1]))
        if "count" in table.column_names:
            counts.append(whole_numbers(source, "count", table["count"], 1))
        elif counted:
            counts.append(np.ones(table.num_rows, dtype=np.int64))
        del table
    (parties_of, user_of, item_of), (party_names, user_names, item_names) = _joined(parts, dictionaries)
    del parts, dictionaries, columns
    pa.default_memory_pool().release_unused()  # the columns of the files
    home = _homes(parties_of, user_of, party_names, user_names)
    uses = np.concatenate(counts) if counted else None
    sets = UserSets.grouped(_by_party(home, user_of), len(home), item_of, uses)
    if repeated := len(item_of) - len(sets.items):
        notes.append(f"{repeated:,} repeated (party, user, item) rows were merged, and their counts added up")
    ends = np.cumsum(np.bincount(home, minlength=len(party_names)))
    parties = tuple(
        _party(party_name, sets, first, end)
        for party_name, first, end in zip(party_names.to_pylist(), np.append(0, ends[:-1]), ends, strict=True)
    )
    return Federation(name, item_names.to_pylist(), parties, tuple(notes))


def coded_text(source: str, name: str, column: pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array]:
    """Return a column as numbers of its distinct texts, and these; far less memory than the texts of all rows."""
    if column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise InvalidInput(f"{source}: row {row + 1}: expected a value for {name!r}, found none")
    is_coded = pa.types.is_dictionary(column.type)  # chunk by chunk, as in a file; our own has one dictionary for all
    encoded = column.unify_dictionaries() if is_coded else column.dictionary_encode()
    chunks = [np.asarray(chunk.indices) for chunk in encoded.chunks]
    codes = chunks[0] if len(chunks) == 1 else np.concatenate(chunks)
    texts = text_of(source, name, encoded.chunk(0).dictionary)
    if (empty := pc.index(texts, "").as_py()) >= 0:
        row = int(np.argmax(codes == empty))
        raise InvalidInput(f"{source}: row {row + 1}: expected a value for {name!r}, found none")
    return codes.astype(np.int32, copy=False), texts


def _check_columns(source: str, table: pa.Table, user: str) -> None:
    found = ", ".join(table.column_names) or "no columns"
    if user in ("party", "item", "count", "users"):
        raise InvalidInput(f"expected a column of user ids beside party, item and count, found {user!r} named as one")
    if user not in table.column_names or "item" not in table.column_names:
        raise InvalidInput(f"{source}: expected the columns {user!r} and 'item' (and 'party', 'count'), found {found}")
    if "users" in table.column_names:
        raise InvalidInput(
            f"{source}: expected rows of one user each, found the column 'users' beside {user!r}: leave one of them out"
        )
    if table.num_rows == 0:
        raise InvalidInput(f"{source}: expected one row at least, found an empty table")


def _one_party(source: str, rows: int) -> tuple[Codes, pa.Array]:
    return np.zeros(rows, dtype=np.int32), pa.array([source])


def _joined(
    parts: list[tuple[Codes, Codes, Codes]], dictionaries: list[tuple[pa.Array, pa.Array, pa.Array]]
) -> tuple[list[Codes], list[pa.Array]]:
    """Return the columns of all tables under one dictionary for each."""
    columns, names = [], []
    for place in range(3):
        if len(parts) == 1:
            columns.append(parts[0][place])
            names.append(dictionaries[0][place])
            continue
        encoded = pa.concat_arrays([each[place] for each in dictionaries]).dictionary_encode()
        moved, first = np.asarray(encoded.indices), 0
        found: list[Codes] = []
        for part, texts in zip(parts, dictionaries, strict=True):
            found.append(moved[first : first + len(texts[place])][part[place]])
            first += len(texts[place])
        columns.append(np.concatenate(found).astype(np.int32))
        names.append(encoded.dictionary)
    return columns, names


def _homes(parties_of: Codes, user_of: Codes, party_names: pa.Array, user_names: pa.Array) -> Codes:
    """Return every user's party; whoever has two would answer, and pay, twice."""
    home = np.zeros(len(user_names), dtype=np.int32)
    home[user_of] = parties_of
    if len(party_names) > 1 and (elsewhere := home[user_of] != parties_of).any():
        row = int(np.argmax(elsewhere))
        user, one, two = user_of[row], parties_of[row], home[user_of[row]]
        raise InvalidInput(
            f"user {user_names[user].as_py()!r} is in two parties, {party_names[one].as_py()!r} and "
            f"{party_names[two].as_py()!r}: expected one each, since she would answer, and pay, twice"
        )
    return home


def _by_party(home: Codes, user_of: Codes) -> Codes:
    """Return the rows' users, numbered so that those of a party follow each other."""
    if len(home) and not home.any():
        return user_of
    order = np.argsort(home.astype(np.min_scalar_type(int(home.max()))), kind="stable")
    rank = np.empty(len(home), dtype=np.int32)
    rank[order] = np.arange(len(home), dtype=np.int32)
    return rank[user_of]


def _party(name: str, sets: UserSets, first: int, end: int) -> PartyItems:
    """Return the users from first to end as a party: their sets, and how many of them hold which item."""
    starts = sets.starts[first : end + 1]
    entries = slice(int(starts[0]), int(starts[-1]))
    counts = None if sets.counts is None else sets.counts[entries]
    return party_of_sets(name, UserSets(starts - starts[0], sets.items[entries], counts))


def set_rows(federation: Federation) -> pa.Table:
    """Return a federation of sets as rows of party, user, item and, where it is known, count: what `load` reads."""
    names, parts, before = pa.array(federation.items, pa.string()), [], 0
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
