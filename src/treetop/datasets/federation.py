"""Federations: for every party, how many of its users hold which item; and what columns and mappings must hold."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treetop.datasets.user_sets import UserSets
from treetop.encoding.normalisation import normalised
from treetop.errors import InvalidInput
from treetop.oracles.set_question import SetQuestion

DEFAULT_ENCODING = "words"
MAX_COUNT = (1 << 53) - 1
USER_NAMES = re.compile(
    r"(user|customer|device|client|account|member|person|visitor|subscriber|patient|household|cookie|player|employee|"
    r"student)(id|uid|uuid|guid|key|no|nr|number|hash|name|code)?|uid|uuid|email|emailaddress|imei|msisdn"
)
"""What a column of user ids is called, in lower case and without anything between the words."""


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

    def moved_to(self, places: NDArray[np.int64]) -> "PartyItems":
        """Return the histogram over another list of items, in which item i stands at places[i]."""
        items, inverse = np.unique(places[self.items], return_inverse=True)
        if self.sets is not None:
            sets = self.sets.moved_to(places)
            return PartyItems(self.name, items, np.bincount(sets.items)[items], sets)
        users = np.zeros(len(items), dtype=np.int64)
        np.add.at(users, inverse, self.users)
        return PartyItems(self.name, items, users)


def party_of_sets(name: str, sets: UserSets) -> PartyItems:
    """Return a party whose users hold sets, with how many of them hold which item."""
    holders = np.bincount(sets.items)
    held = np.flatnonzero(holders)
    return PartyItems(name, held, holders[held], sets)


@dataclass(frozen=True, eq=False, repr=False)
class Federation:
    """Several parties over one list of distinct items."""

    name: str
    items: list[str]
    parties: tuple[PartyItems, ...]
    notes: tuple[str, ...] = ()
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
        """Return the federation with what is asked of its users' sets."""
        parties = tuple(
            party if party.sets is None else replace(party, sets=replace(party.sets, question=question))
            for party in self.parties
        )
        return replace(self, parties=parties)

    def normalised(self, steps: Collection[str]) -> "Federation":
        """Return the federation with every item normalised; items that become the same are counted together."""
        names = [normalised(item, steps) for item in self.items]
        places = {name: place for place, name in enumerate(dict.fromkeys(names))}
        moved = np.array([places[name] for name in names], dtype=np.int64)
        merged = len(names) - len(places)
        note = f"items were normalised ({', '.join(steps)}): {merged:,} were merged with others"
        parties = tuple(party.moved_to(moved) for party in self.parties)
        return replace(self, items=list(places), parties=parties, notes=(*self.notes, note))

    def __repr__(self) -> str:
        parties = "1 party" if len(self.parties) == 1 else f"{len(self.parties)} parties"
        return f"Federation({self.name!r}: {parties}, {self.users:,} users, {len(self.items):,} items)"


def federation_from_rows(
    name: str, parties: pa.ChunkedArray, items: pa.ChunkedArray, users: pa.ChunkedArray | None
) -> Federation:
    """Build a federation of rows (party, item, users); without users every row is one."""
    counted = users is not None
    column = users if users is not None else pa.array(np.ones(len(items), dtype=np.int64))
    rows = pa.table({"party": parties, "item": items, "users": column})
    summed = rows.group_by(["party", "item"], use_threads=False).aggregate([("users", "sum")])
    repeated = len(rows) - len(summed)
    notes = (f"{repeated:,} repeated (party, item) rows were added up",) if counted and repeated else ()
    summed = summed.filter(pc.greater(summed["users_sum"], 0))
    encoded = pc.dictionary_encode(summed["item"]).combine_chunks()
    names = encoded.dictionary.to_pylist()
    if pa.types.is_binary(encoded.dictionary.type):
        names = [item.decode("utf-8", "surrogateescape") for item in names]
    return Federation(name, names, _parties(rows, summed, encoded.indices), notes)


def _parties(rows: pa.Table, summed: pa.Table, indices: pa.Array) -> tuple[PartyItems, ...]:
    """Split the summed rows by party, in the order in which the parties are first named."""
    names = pc.unique(rows["party"])
    owners = np.asarray(pc.index_in(summed["party"], names)).astype(np.int64)
    order = np.argsort(owners, kind="stable")
    ends = np.cumsum(np.bincount(owners, minlength=len(names)))[:-1]
    items = np.split(np.asarray(indices).astype(np.int64)[order], ends)
    users = np.split(np.asarray(summed["users_sum"]).astype(np.int64)[order], ends)
    for party, held in zip(names.to_pylist(), items, strict=True):
        if not len(held):
            raise InvalidInput(f"party {party!r} is empty: expected one user at least, found none")
    return tuple(map(PartyItems, names.to_pylist(), items, users))


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
        raise InvalidInput("a federation needs one party at least, found none")
    try:
        owners, held_items = (pa.chunked_array([pa.array(column, pa.string())]) for column in (parties, items))
    except UnicodeEncodeError as reason:
        found = reason.object[reason.start : reason.end]
        raise InvalidInput(f"parties and items must be text in Unicode, found half a character: {found!r}") from None
    return federation_from_rows(name, owners, held_items, pa.chunked_array([pa.array(users, pa.int64())]))


def _histogram(party: str, held: object) -> dict[Any, int]:
    if isinstance(held, str) or not isinstance(held, Iterable):
        raise InvalidInput(f"party {party!r} must hold items or a mapping of items to users, found {held!r}")
    counts = dict(held) if isinstance(held, Mapping) else Counter(held)
    for item, users in counts.items():
        if item is None or isinstance(users, bool) or not isinstance(users, int | np.integer) or users < 0:
            raise InvalidInput(f"party {party!r}, item {item!r}: expected a whole number of users, found {users!r}")
    if not counts:
        raise InvalidInput(f"party {party!r} is empty: expected one user at least, found none")
    return {item: int(users) for item, users in counts.items()}


def any_bytes(source: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return items as they are written, UTF-8 or not, and nothing where there is none."""
    written = column.cast(pa.string()) if pa.types.is_integer(column.type) else column
    try:
        return pc.fill_null(written.cast(pa.binary()), b"")
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise InvalidInput(f"{source}: column 'item' must hold text or integers, found {column.type}") from None


def text_of(source: str, name: str, column: Any) -> Any:
    """Return an array as text, integers in their digits."""
    if pa.types.is_floating(column.type):
        raise InvalidInput(f"{source}: column {name!r} must hold text or integers, found {column.type}")
    try:
        return column.cast(pa.string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise InvalidInput(f"{source}: column {name!r} does not read as text: {reason}") from None


def text_column(source: str, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return a column as text; every row must have some."""
    text = text_of(source, name, column)
    missing = pc.or_kleene(pc.is_null(text), pc.equal(pc.utf8_length(text), 0))
    row = pc.index(pc.fill_null(missing, True), True).as_py()
    if row >= 0:
        raise InvalidInput(f"{source}: row {row + 1}: expected a value for {name!r}, found none")
    return text


def whole_numbers(source: str, name: str, column: pa.ChunkedArray, least: int = 0) -> Any:
    """Return a column as integers; text such as `3` or `3.0` and floats without a fraction will do."""
    try:
        numbers = pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column
        missing = pc.is_null(numbers) if numbers is column else pc.equal(numbers, "")
        _refuse_first(source, name, column, missing, least)
        numbers = numbers.cast(pa.int64() if pa.types.is_integer(numbers.type) else pa.float64())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise InvalidInput(f"{source}: expected whole numbers in {name!r}, found other values: {reason}") from None
    values = np.asarray(numbers)
    wrong = ~(np.isfinite(values) & (values >= least) & (values <= MAX_COUNT) & (values == np.floor(values)))
    _refuse_first(source, name, column, pa.chunked_array([pa.array(wrong)]), least)
    return values.astype(np.int64)


def popularities(source: str, name: str, column: pa.ChunkedArray) -> list[float]:
    """Return a column as numbers from 0: of how many users, or how often, or any other measure of popularity."""
    try:
        numbers = pc.utf8_trim_whitespace(column) if pa.types.is_string(column.type) else column
        values = np.asarray(numbers.cast(pa.float64()).fill_null(np.nan))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as reason:
        raise InvalidInput(f"{source}: expected numbers in {name!r}, found other values: {reason}") from None
    wrong = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(wrong):
        found = column[int(wrong[0])].as_py()
        raise InvalidInput(f"{source}: row {wrong[0] + 1}: expected a number from 0 in {name!r}, found {found}")
    return [float(value) for value in values]


def _refuse_first(source: str, name: str, column: pa.ChunkedArray, wrong: pa.ChunkedArray, least: int) -> None:
    row = pc.index(wrong, True).as_py()
    if row >= 0:
        found = column[row].as_py()
        what = (
            f"a whole number of users from {least}" if name == "users" else f"a whole number from {least} in {name!r}"
        )
        found = "none" if found is None or not str(found).strip() else found
        raise InvalidInput(f"{source}: row {row + 1}: expected {what}, found {found}")


def looks_like_users(column: str) -> bool:
    """Return whether a column's name says that its rows belong to users: `user_id`, `UID`, `customer-id` …"""
    return USER_NAMES.fullmatch(re.sub(r"[^a-z]", "", column.lower())) is not None


def refuse_unnamed_users(source: str, columns: list[str]) -> None:
    """Refuse a table whose rows seem to belong to users: read as users of their own, every count would be wrong."""
    if found := [column for column in columns if looks_like_users(column)]:
        column = found[0]
        raise InvalidInput(
            f"{source}: the column {column!r} looks like a user's id, and nobody said so: expected --user-column "
            f"{column} (load(..., user={column!r})) where its rows are the items of one user, or --rows-are-users "
            "(rows_are_users=True) where every row is a user of her own"
        )
