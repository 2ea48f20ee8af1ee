"""Federations of users who hold many items, from rows of party, user, item and optionally count."""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treetop.datasets.columns import CodedTexts, Codes
from treetop.datasets.federation import Federation, PartyItems, notes_on_names, party_of_sets
from treetop.datasets.table_files.named_columns import COUNT, ITEM, PARTY, USER, NamedColumns
from treetop.datasets.table_files.options import ReadOptions
from treetop.datasets.table_files.reader import ReadTable
from treetop.datasets.user_sets import UserSets
from treetop.errors import InvalidInput
from treetop.wording import Note


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
    of_parties, of_users, of_items = (CodedTexts.joined([part[place] for part in parts]) for place in range(3))
    del parts
    pa.default_memory_pool().release_unused()  # the columns of the files
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
    """Return every user's party; whoever has two would answer, and pay, twice."""
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
