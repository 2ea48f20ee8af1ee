"""Questions to users who hold many items, and their answers."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.support.refusals import refused

import treetop
from treetop.answers.answer import Answer
from treetop.datasets.federation import Federation, PartyItems
from treetop.datasets.loading import as_federation
from treetop.datasets.user_sets import UserSets
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.registry import MECHANISMS
from treetop.privacy.epsilon import Epsilon
from treetop.query.sets import SIZE_CLASSES, best_items, size_classes
from treetop.wording import Note

pytestmark = pytest.mark.filterwarnings("ignore::treetop.errors.TreetopWarning")
POPULAR = ["10", "20", "30"]
ALONE = {"a": {"1": 900, "2": 5}}


def events(users: int = 6_000, extra: int = 3) -> Federation:
    """Two parties; two thirds of the users hold 10, half of them 20 and 30 too, and everybody some of 200 others."""
    randomness = np.random.default_rng(1)
    rows: list[tuple[str, int, int]] = []
    for user in range(users):
        items = [10] * (user % 3 > 0) + [20, 30] * (user % 2)
        rows += [("ab"[user % 2], user, item) for item in (*items, *randomness.integers(100, 300, extra).tolist())]
    parties, ids, items_ = zip(*rows, strict=True)
    table = pa.table({"party": list(parties), "uid": list(ids), "item": [str(item) for item in items_]})
    return as_federation(table, user="uid")


EVENTS = events()


def found(answer: Answer) -> set[str]:
    return {item.item for item in answer.items}


@pytest.mark.parametrize("options", [
    {}, {"mechanism": "canopy", "encoding": "ids", "bits": 16}, {"catalogue": [*POPULAR, "100"]}, {"oracle": "olh"},
    {"encoding": "hashed", "word_list": [*POPULAR, "100"], "text_recovery": False},
])  # fmt: skip
@pytest.mark.parametrize("simulator", ["exact", "devices"])
def test_whoever_takes_sets_finds_what_most_users_hold(options: dict[str, Any], simulator: str) -> None:
    if simulator == "devices" and options.get("oracle") == "olh":
        pytest.skip("OLH cannot count every name, and says so")
    answer = treetop.find(EVENTS, k=3, epsilon=4, seed=2, items_per_user=4, simulator=simulator, **options)
    assert found(answer) == set(POPULAR)
    assert (answer.items_per_user, answer.reading) == (4, "holders")
    assert answer.items[0].true_count == 4_000
    first = answer.items[0]
    held = 2_000 + 2_000 * 4 / 6 if first.item == "10" else 0  # users with three and with six items
    assert abs(first.count - held) < 7 * first.stderr
    assert answer.choices[0] == Note("set_counts", items_per_user=4, reading="holders")
    assert answer.choices[1].code == "set_fake_weight"


def test_the_weight_of_a_fake_is_shown() -> None:
    answer = treetop.find(EVENTS, k=3, epsilon=2, seed=2, mechanism="canopy", encoding="ids", bits=16)
    assert answer.items_per_user == 8
    weights = answer.choices[1].parameters
    assert (round(weights["weight"], 1), round(weights["single_weight"], 1)) == (21.7, 2.4)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_takes_one_item_of_each_user(mechanism: str) -> None:
    settings: dict[str, Any] = {} if mechanism == "panorama" else {"encoding": "ids", "bits": 16}
    answer = treetop.find(EVENTS, k=3, epsilon=6, seed=2, mechanism=mechanism, items_per_user=1, **settings)
    assert (answer.items_per_user, answer.reading) == (1, "shares")
    assert answer.choices[0] == Note("set_counts", items_per_user=1, reading="shares")
    assert len(answer.items) == 3


@pytest.mark.parametrize("mechanism", ["fedpem", "gtf", "tap", "taps"])
def test_mechanisms_of_the_paper_refuse_sets_and_say_why(mechanism: str) -> None:
    with refused("mechanism_without_sets", InvalidInput, items=8):
        treetop.find(EVENTS, mechanism=mechanism, seed=1)


def test_answers_say_the_reading_and_are_read_back() -> None:
    answer = treetop.find(EVENTS, k=3, epsilon=4, seed=2, reading="use_shares")
    content = answer.to_json()
    assert (content["items_per_user"], content["reading"]) == (1, "use_shares")
    assert Answer.from_json(content).reading == "use_shares"
    alone = treetop.find(ALONE, k=1, epsilon=4, seed=1).to_json()
    assert (alone["items_per_user"], alone["reading"]) == (None, "holders")


def test_a_share_and_a_use_share_are_estimated_without_bias() -> None:
    """Item 10 among three or six items of two in three users; six standard errors."""
    share = treetop.find(EVENTS, k=3, epsilon=6, seed=2, items_per_user=1).items[0]
    assert share.item == "10"
    assert share.true_count == pytest.approx(2_000 / 4 + 2_000 / 6, abs=30)
    assert abs(share.count - (share.true_count or 0)) < 6 * (share.stderr + share.count**0.5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"reading": "occurrences"}, "reading_occurrences"),
        ({"reading": "shares", "items_per_user": 8}, "reading_of_one_item"),
        ({"items_per_user": 65}, "items_per_user_range"),
        ({"items_per_user": "many"}, "items_per_user_not_number"),
        ({"items_per_user": 1.5}, "items_per_user_not_number"),
        ({"oracle": "krr"}, "oracle_without_sets"),
    ],
)
def test_what_cannot_be_asked_is_refused(options: dict[str, Any], said: str) -> None:
    with refused(said, InvalidInput):
        treetop.find(EVENTS, seed=1, **options)


def test_an_unknown_reading_is_refused_with_the_known_ones() -> None:
    with refused("unknown_name", UnknownName, kind="reading", found="holder", nearest="holders"):
        treetop.find(EVENTS, seed=1, reading="holder")


@pytest.mark.parametrize("options", [{"items_per_user": 8}, {"items_per_user": "auto"}, {"reading": "shares"}])
def test_questions_about_sets_need_sets(options: dict[str, Any]) -> None:
    with refused("data_without_sets", InvalidInput):
        treetop.find(ALONE, k=1, seed=1, **options)


def test_one_item_of_each_may_be_said_of_data_without_sets() -> None:
    answer = treetop.find(ALONE, k=1, epsilon=4, seed=1, items_per_user=1, reading="holders")
    assert answer.items_per_user is None


def test_the_same_number_by_a_setting() -> None:
    one = treetop.find(EVENTS, k=3, epsilon=4, seed=2, items_per_user=4)
    other = treetop.find(EVENTS, k=3, epsilon=4, seed=2, items_per_user="4")  # as --set gives it
    assert one.to_json() == other.to_json()


def test_a_table_with_a_user_column_is_asked_at_once() -> None:
    table = pa.table({"uid": [1, 1, 2, 3], "item": ["5", "6", "5", "5"]})
    with refused("user_column_unnamed", InvalidInput, source="data", column="uid"):
        treetop.find(table, k=1, seed=1)
    assert treetop.find(table, k=1, seed=1, epsilon=8, user="uid").users == 3
    assert treetop.find(table, k=1, seed=1, epsilon=8, rows_are_users=True).users == 4


def test_sizes_have_classes() -> None:
    found = [SIZE_CLASSES[place] for place in size_classes(np.array([0, 1, 5, 6, 7, 127, 128, 10_000]))]
    assert found == [0, 1, 4, 6, 6, 96, 128, 128]


@pytest.mark.parametrize(("size", "m"), [(3, 8), (8, 8), (128, 64)])
def test_large_sets_ask_for_more_items(size: int, m: int) -> None:
    shares = np.array([float(each == size) for each in SIZE_CLASSES])
    assert best_items(shares, "auto", Epsilon(2)) == m


def test_a_survey_chooses_the_number_and_takes_its_users_out() -> None:
    answer = treetop.find(EVENTS, k=3, epsilon=4, seed=2, items_per_user="auto")
    note = next(note for note in answer.notes if note.code == "set_sizes_surveyed")
    surveyed = note.parameters["users"]
    assert answer.users == 6_000 - surveyed
    assert abs(surveyed - 300) < 6 * (6_000 * 0.05 * 0.95) ** 0.5
    assert note.parameters["items_per_user"] == answer.items_per_user
    assert answer.items_per_user in range(8, 65)
    assert found(answer) == set(POPULAR)
    again = treetop.find(EVENTS, k=3, epsilon=4, seed=2, items_per_user="auto")
    assert again.to_json() == answer.to_json()


def test_large_sets_are_surveyed_as_large() -> None:
    answer = treetop.find(events(4_000, extra=90), k=3, epsilon=4, seed=3, items_per_user="auto")
    assert answer.items_per_user is not None
    assert answer.items_per_user >= 32


def small(sets: Sequence[UserSets | None]) -> Federation:
    parties = tuple(PartyItems(f"p{place}", np.array([0]), np.array([1]), each) for place, each in enumerate(sets))
    return Federation("f", ["1"], parties)


def test_a_party_whose_users_would_all_be_surveyed_keeps_them() -> None:
    one = UserSets(np.array([0, 1]), np.array([0], dtype=np.int32))
    for seed in range(60):
        assert treetop.find(small([one]), k=1, epsilon=4, seed=seed, items_per_user="auto").users == 1


def test_parties_of_both_kinds_are_refused() -> None:
    one = UserSets(np.array([0, 1]), np.array([0], dtype=np.int32))
    with refused("party_without_sets", InvalidInput, name="p1"):
        treetop.find(small([one, None]), k=1, seed=1, items_per_user="auto")


@pytest.mark.parametrize(("items_per_user", "true"), [(8, 5 / 6), (1, (1 / 2 + 2 / 3 + 1 / 3 + 1 + 3 / 4) / 6)])
def test_whoever_holds_anything_else_is_outside_a_catalogue_once(items_per_user: int, true: float) -> None:
    """With holders a user is outside or not, however many such items she has; with shares by their share."""
    sets = [["1", "7"], ["1", "7", "8"], ["1", "2", "9"], ["8"], ["1", "2"], ["2", "7", "8", "9"]]
    rows = [("a", user, item) for user, held in enumerate(sets) for item in held]
    table = pa.table(dict(zip(("party", "uid", "item"), map(list, zip(*rows, strict=True)), strict=True)))
    answer = treetop.find(
        as_federation(table, user="uid"), k=2, epsilon=4, seed=1, catalogue=["1", "2"], items_per_user=items_per_user
    )
    assert answer.outside is not None
    assert answer.outside.true_share == pytest.approx(true)
    assert answer.notes[0].code == "items_unfit"
    assert (answer.notes[0].parameters["items"], answer.notes[0].parameters["users"]) == (3, 5)
