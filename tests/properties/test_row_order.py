"""Same seed, rows in another order: the same answer, to the last digit.

A run depends on the federation and the seed alone, so it is the federation that must not depend on the order; the
whole answer is compared for one shuffled table of each kind.
"""

from random import Random
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import treetop
from treetop.datasets.federation import Federation
from treetop.datasets.loading import as_federation

PARTIES = st.sampled_from(["north", "south", "Ost", "west 10", "west 9"])
ITEMS = st.sampled_from([f"item {number}" for number in range(12)] + ["é", "e\u0301", "ß", "10", "9", "tea", "chai"])
ROWS = st.lists(st.tuples(PARTIES, ITEMS, st.integers(1, 4_000)), min_size=1, max_size=40)
EVENTS = st.lists(st.tuples(st.integers(0, 120), ITEMS, st.integers(1, 9)), min_size=1, max_size=80)


SETS = {"user": "uid", "catalogue": [f"item {number}" for number in range(12)]}


def table(rows: list[tuple[Any, ...]], names: tuple[str, ...]) -> pa.Table:
    return pa.table([list(column) for column in zip(*rows, strict=True)], list(names))


def shuffled_rows(rows: list[Any], seed: int) -> list[Any]:
    return Random(seed).sample(rows, len(rows))  # noqa: S311


def everything(federation: Federation) -> object:
    parties = [
        (party.name, party.items.tolist(), party.users.tolist())
        + ((party.sets.starts.tolist(), party.sets.items.tolist()) if party.sets else ())
        for party in federation.parties
    ]
    return federation.items, parties, federation.notes


@given(rows=ROWS, seed=st.integers(0, 2**32))
def test_rows_of_parties_and_items(rows: list[tuple[str, str, int]], seed: int) -> None:
    names, shuffled = ("party", "item", "users"), shuffled_rows(rows, seed)
    one, other = (as_federation(table(each, names)) for each in (rows, shuffled))
    assert everything(one) == everything(other)
    steps = ("nfc", "casefold")
    assert everything(one.normalised(steps)) == everything(other.normalised(steps))


@given(events=EVENTS, seed=st.integers(0, 2**32), as_text=st.booleans())
def test_rows_of_users_with_sets(events: list[tuple[int, str, int]], seed: int, as_text: bool) -> None:
    rows = [("ab"[user % 2], f"u{user}" if as_text else user, item, count) for user, item, count in events]
    names, shuffled = ("party", "uid", "item", "count"), shuffled_rows(rows, seed)
    one, other = (as_federation(table(each, names), user="uid") for each in (rows, shuffled))
    assert everything(one) == everything(other)
    if not as_text:  # digits in a text are the same users
        texts = [(party, str(user), item, count) for party, user, item, count in shuffled]
        assert everything(one) == everything(as_federation(table(texts, names), user="uid"))


@pytest.mark.filterwarnings("ignore::treetop.TreetopWarning")
@pytest.mark.parametrize("asked", [{"mechanism": "taps", "encoding": "hashed"}, {}, SETS])
def test_the_answer_to_rows_in_another_order(asked: dict[str, Any]) -> None:
    draw = Random(1)  # noqa: S311
    rows = [("ab"[user % 2], str(user), f"item {int(draw.expovariate(0.3))}") for user in range(900) for _ in range(2)]
    names = ("party", "uid" if "user" in asked else "day", "item")
    answers = [
        treetop.find(table(each, names), k=3, epsilon=4, seed=7, **asked).to_json()
        for each in (rows, shuffled_rows(rows, 2))
    ]
    assert answers[0] == answers[1]


def test_parties_and_items_of_a_mapping_in_another_order() -> None:
    data = {"b": {"tea": 500, "chai": 300, "latte": 90}, "a": {"latte": 400, "tea": 100, "cocoa": 50}}
    other = {party: dict(reversed(held.items())) for party, held in reversed(data.items())}
    assert everything(as_federation(data)) == everything(as_federation(other))
    assert as_federation(data).items == ["chai", "cocoa", "latte", "tea"]
