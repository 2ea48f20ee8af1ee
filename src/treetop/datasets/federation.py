"""Federations: for every party, how many of its users hold which item; from rows and from mappings."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from treetop.datasets.columns import CodedTexts, Codes
from treetop.datasets.user_sets import UserSets
from treetop.encoding.normalisation import STEPS, normalised
from treetop.errors import InvalidInput
from treetop.oracles.set_reports import SetQuestion
from treetop.wording import Note

DEFAULT_ENCODING = "words"
CELLS_PER_ROW = 4
"""Cells of a table of all parties and items for each row of the data, up to which such a table is the faster way."""
EXACT_BELOW = 2.0**53
"""Sums of whole numbers up to here are exact in doubles."""
MAX_ALIKE = 3
"""Groups of parties with nearly the same name that are named in notes."""
USER_NAMES = re.compile(
    r"(user|customer|device|client|account|member|person|visitor|subscriber|patient|household|cookie|player|employee|"
    r"student)(id|uid|uuid|guid|key|no|nr|number|hash|name|code)?|uid|uuid|email|emailaddress|imei|msisdn"
)
"""Names of columns of user ids, in lower case and with letters only."""


@dataclass(frozen=True, eq=False)
class PartyItems:
    """One party's histogram: indices into the federation's list of items, and the users of each."""

    name: str
    items: NDArray[np.int64]
    users: NDArray[np.int64]
    sets: UserSets | None = None
    """Where a user may hold several items: who holds which."""

    @property
    def total(self) -> int:
        """Return the number of users."""
        return int(self.users.sum()) if self.sets is None else len(self.sets)

    def moved_to(self, indices: NDArray[np.int64]) -> "PartyItems":
        """Return the histogram over another list of items, in which item i has the index indices[i]."""
        items, inverse = np.unique(indices[self.items], return_inverse=True)
        if self.sets is not None:
            sets = self.sets.moved_to(indices)
            return PartyItems(self.name, items, np.bincount(sets.items)[items], sets)
        users = np.zeros(len(items), dtype=np.int64)
        np.add.at(users, inverse, self.users)
        return PartyItems(self.name, items, users)


def party_of_sets(name: str, sets: UserSets) -> PartyItems:
    """Return a party whose users hold sets, with the number of holders of each item."""
    holders = np.bincount(sets.items)
    held = np.flatnonzero(holders)
    return PartyItems(name, held, holders[held], sets)


@dataclass(frozen=True, eq=False, repr=False)
class Federation:
    """Several parties over one list of distinct items."""

    name: str
    items: list[str]
    parties: tuple[PartyItems, ...]
    notes: tuple[Note, ...] = ()
    """What was done to the data on the way in, for the user to read."""
    encoding: str = DEFAULT_ENCODING
    """The encoding that suits the items, unless the user asks for another."""

    @cached_property
    def users(self) -> int:
        """Return the users of all parties."""
        return sum(party.total for party in self.parties)

    @property
    def holds_sets(self) -> bool:
        """Return whether a user may hold several items."""
        return any(party.sets is not None for party in self.parties)

    def asking(self, question: SetQuestion) -> "Federation":
        """Return the federation with the question to its users' sets."""
        parties = tuple(
            party if party.sets is None else replace(party, sets=replace(party.sets, question=question))
            for party in self.parties
        )
        return replace(self, parties=parties)

    def normalised(self, steps: Collection[str]) -> "Federation":
        """Return the federation with every item normalised; items that become the same are counted together."""
        names = [normalised(item, steps) for item in self.items]
        indices = {name: index for index, name in enumerate(sorted(set(names)))}
        moved = np.array([indices[name] for name in names], dtype=np.int64)
        merged = len(names) - len(indices)
        note = Note("items_normalised", steps=tuple(steps), merged=merged)
        parties = tuple(party.moved_to(moved) for party in self.parties)
        return replace(self, items=list(indices), parties=parties, notes=(*self.notes, note))

    def __repr__(self) -> str:
        parties = "1 party" if len(self.parties) == 1 else f"{len(self.parties)} parties"
        return f"Federation({self.name!r}: {parties}, {self.users:,} users, {len(self.items):,} items)"


def notes_on_names(parties: Collection[str]) -> list[Note]:
    """Note the parties that look like one party whose name is written in two ways."""
    alike: dict[str, list[str]] = {}
    for party in parties:
        alike.setdefault(normalised(party, STEPS), []).append(party)
    written = [sorted(names) for names in alike.values() if len(names) > 1]
    return [Note("parties_alike", parties=names) for names in written[:MAX_ALIKE]]


def federation_from_rows(
    name: str, parties: CodedTexts, items: CodedTexts, users: NDArray[np.int64] | None
) -> Federation:
    """Build a federation of rows (party, item, users); without users every row is one.

    Parties and items are in the order of their names, so that rows in another order are the same federation.
    """
    parties = parties.in_order()
    items = items.in_order()
    owners, held, counts = _summed(parties.codes, items.codes, len(items.texts), users)
    repeated = len(items.codes) - len(counts)
    notes = (Note("rows_added_up", rows=repeated),) if users is not None and repeated else ()
    order = np.flatnonzero(counts > 0)
    indices = np.zeros(len(items.texts), dtype=np.int64)  # of the items that somebody holds
    kept = np.bincount(held[order], minlength=len(indices)) > 0
    indices[kept] = np.arange(np.count_nonzero(kept))
    found = _parties(parties.texts.to_pylist(), owners[order], indices[held[order]], counts[order])
    names = items.texts.filter(pa.array(kept)).to_pylist()
    if pa.types.is_binary(items.texts.type):
        names = [item.decode("utf-8", "surrogateescape") for item in names]
    return Federation(name, names, found, notes)


def _summed(
    parties: Codes, items: Codes, number: int, users: NDArray[np.int64] | None
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Add up the rows of every party and item that occurs, sorted by both."""
    pairs = parties.astype(np.int64) * number + items  # a party and an item as one integer, which sorts by both
    cells = int(pairs.max()) + 1
    exact = users is None or float(users.sum(dtype=np.float64)) < EXACT_BELOW  # bincount sums floats
    if exact and cells <= CELLS_PER_ROW * len(pairs):
        occurring = np.bincount(pairs)
        found = np.flatnonzero(occurring)
        sums = occurring if users is None else np.bincount(pairs, users)
        return found // number, found % number, sums[found].astype(np.int64)
    column = np.ones(len(pairs), dtype=np.int64) if users is None else users
    summed = (
        pa.table({"pair": pairs, "users": column}).group_by("pair", use_threads=False).aggregate([("users", "sum")])
    )
    order = np.argsort(np.asarray(summed["pair"]))
    pair = np.asarray(summed["pair"])[order]
    total = np.asarray(summed["users_sum"])[order]
    return pair // number, pair % number, total


def _parties(
    names: list[str], owners: NDArray[Any], items: NDArray[np.int64], users: NDArray[np.int64]
) -> tuple[PartyItems, ...]:
    """Split rows that are sorted by party."""
    ends = np.cumsum(np.bincount(owners, minlength=len(names)))[:-1]
    parts = zip(names, np.split(items, ends), np.split(users.astype(np.int64), ends), strict=True)
    found = tuple(PartyItems(*part) for part in parts)
    for party in found:
        if not len(party.items):
            raise InvalidInput("party_empty", party=party.name)
    return found


def federation_from_mapping(data: Mapping[Any, Any], name: str = "data") -> Federation:
    """Build a federation of {party: iterable of items} or {party: {item: users}}."""
    parties: list[str] = []
    items: list[str] = []
    users: list[int] = []
    for party, held in data.items():
        histogram = _histogram(str(party), held)
        parties += [str(party)] * len(histogram)
        items += [str(item) for item in histogram]
        users += histogram.values()
    if not parties:
        raise InvalidInput("federation_empty")
    try:
        owners, held_items = (pa.array(column, pa.string()).dictionary_encode() for column in (parties, items))
    except UnicodeEncodeError as reason:
        found = reason.object[reason.start : reason.end]
        raise InvalidInput("text_not_unicode", found=found) from None
    parties_of, items_of = (CodedTexts(np.asarray(each.indices), each.dictionary) for each in (owners, held_items))
    return federation_from_rows(name, parties_of, items_of, np.array(users, dtype=np.int64))


def _histogram(party: str, held: object) -> dict[Any, int]:
    if isinstance(held, str) or not isinstance(held, Iterable):
        raise InvalidInput("party_malformed", party=party, held=held)
    counts = dict(held) if isinstance(held, Mapping) else Counter(held)
    for item, users in counts.items():
        if item is None or isinstance(users, bool) or not isinstance(users, int | np.integer) or users < 0:
            raise InvalidInput("item_users_malformed", party=party, item=item, users=users)
    if not counts:
        raise InvalidInput("party_empty", party=party)
    return {item: int(users) for item, users in counts.items()}


def looks_like_users(column: str) -> bool:
    """Return whether a column's name suggests that its rows belong to users: `user_id`, `UID`, `customer-id` …"""
    return USER_NAMES.fullmatch(re.sub(r"[^a-z]", "", column.lower())) is not None


def refuse_unnamed_users(source: str, columns: list[str]) -> None:
    """Refuse a table whose rows seem to belong to users: with each row read as a user, every count would be wrong."""
    if found := [column for column in columns if looks_like_users(column)]:
        column = found[0]
        raise InvalidInput("user_column_unnamed", source=source, column=column)
