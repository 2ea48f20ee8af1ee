"""Users who hold many items: rows gathered by user, and everything that is refused with its reason."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.support.refusals import refused

from treetop.datasets import set_kernels
from treetop.datasets.federation import Federation, looks_like_users
from treetop.datasets.loading import USER, as_federation, federation_named, histogram_file, load, set_rows
from treetop.datasets.party_split import with_users
from treetop.datasets.table_files.options import ReadOptions
from treetop.datasets.user_sets import UserSets
from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.set_reports import SetQuestion
from treetop.wording import Note

EVENTS = "party,user_id,item\nnorth,u1,tea\nsouth,u2,tea\nnorth,u1,rum\nsouth,u2,gin\nnorth,u3,rum\nnorth,u1,tea\n"


def csv(folder: Path, text: str, name: str = "events.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def held(federation: Federation) -> dict[str, list[dict[str, int]]]:
    """Every party's users, in order, with their items and how often each was used."""
    found = {}
    for party in federation.parties:
        sets = party.sets
        assert sets is not None
        counts = np.ones(len(sets.items), dtype=int) if sets.counts is None else sets.counts
        found[party.name] = [
            {federation.items[sets.items[i]]: int(counts[i]) for i in range(*sets.starts[user : user + 2])}
            for user in range(len(sets))
        ]
    return found


def refusal(path: Path, user: str | None = "user_id") -> str:
    with pytest.raises(InvalidInput) as caught:
        load(path, user=user)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_rows_are_gathered_by_user_and_repeated_ones_merged(tmp_path: Path) -> None:
    federation = load(csv(tmp_path, EVENTS), user="user_id")
    assert held(federation) == {"north": [{"tea": 2, "rum": 1}, {"rum": 1}], "south": [{"tea": 1, "gin": 1}]}
    assert federation.notes == (Note("set_rows_merged", rows=1),)
    assert (federation.users, federation.holds_sets, len(federation.items)) == (3, True, 3)
    assert [party.total for party in federation.parties] == [2, 1]
    assert [dict(zip(party.items.tolist(), party.users.tolist(), strict=True)) for party in federation.parties] == [
        {1: 2, 2: 1}, {0: 1, 2: 1},
    ]  # fmt: skip


def test_without_repeated_rows_nothing_is_counted_twice_and_nothing_noted(tmp_path: Path) -> None:
    federation = load(csv(tmp_path, "uid,item\n7,tea\n8,tea\n7,rum\n"), user="uid")
    (party,) = federation.parties
    assert (party.name, federation.notes) == ("events", ())
    assert party.sets is not None
    assert party.sets.counts is None
    assert held(federation) == {"events": [{"tea": 1, "rum": 1}, {"tea": 1}]}


def test_counts_are_read_and_added_up(tmp_path: Path) -> None:
    federation = load(csv(tmp_path, "uid,item,count\n7,tea,3\n7,rum,1\n7,tea,2.0\n"), user="uid")
    assert held(federation) == {"events": [{"tea": 5, "rum": 1}]}


def test_several_files_are_one_federation(tmp_path: Path) -> None:
    one = csv(tmp_path, "uid,item,count,shoe\n1,tea,4,9\n2,rum,1,9\n", "north.csv")
    two = csv(tmp_path, "uid,item\n3,rum\n3,gin\n", "south.csv")
    federation = load(one, two, user="uid")
    assert held(federation) == {"north": [{"tea": 4}, {"rum": 1}], "south": [{"rum": 1, "gin": 1}]}
    assert federation.notes == (Note("columns_ignored", file="north.csv", columns="shoe"),)
    again = csv(tmp_path, "uid,item\n1,x\n", "again.csv")
    with refused("user_in_two_parties", InvalidInput, user="1", first="north", second="again"):
        load(one, again, user="uid")


def test_tables_and_integers_and_categories_will_do() -> None:
    rows = {"party": ["a", "b", "a"], "uid": [5, 6, 5], "item": [10, 10, 20]}
    table = pa.table(rows)
    assert held(as_federation(table, user="uid")) == {"a": [{"10": 1, "20": 1}], "b": [{"10": 1}]}
    coded = table.set_column(1, "uid", table["uid"].cast(pa.string()).dictionary_encode())
    chunked = pa.concat_tables([coded.slice(0, 1), coded.slice(1)])
    assert held(as_federation(chunked, user="uid")) == held(as_federation(table, user="uid"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("party,user_id,item\na,1,x\nb,1,y\n", "user '1' is in two parties, 'a' and 'b': expected one each"),
        ("user_id,item\n,x\n", "row 1: expected a value for 'user_id', found none"),
        ("user_id,item\n1,x\n2,\n", "row 2: expected a value for 'item', found none"),
        ("user_id,item,users\n1,x,1\n", "found the column 'users' beside 'user_id': leave one of them out"),
        ("user_id,item,count\n1,x,0\n", "row 1: expected a whole number from 1 in 'count', found 0"),
        ("user_id,item,count\n1,x,\n", "row 1: expected a whole number from 1 in 'count', found none"),
        ("user_id,item,count\n1,x,1.5\n", "row 1: expected a whole number from 1 in 'count', found 1.5"),
        ("user_id,item,count\n1,x,two\n", "row 1: expected a whole number from 1 in 'count', found two"),
        ("user_id,item\n", "expected one row at least, found an empty table"),
        ("user,item\n1,x\n", "expected the columns 'user_id' and 'item' (and 'party', 'count'), found user, item"),
        ("user_id,thing\n1,x\n", "expected the columns 'user_id' and 'item'"),
    ],
)
def test_what_cannot_be_a_set_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in refusal(csv(tmp_path, text))


def test_missing_and_fractional_users_of_a_parquet_file_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    for users, said in (([1, None], "row 2: expected a value for 'uid'"), ([1.5, 2.0], "must hold text or integers")):
        pa.parquet.write_table(pa.table({"uid": users, "item": ["x", "y"]}), path)
        assert said in refusal(path, "uid")


@pytest.mark.parametrize("name", ["user_id", "USER", "userId", "uid", "Customer-ID", "device_id", "client id", "email"])
def test_a_column_that_looks_like_users_must_be_named(tmp_path: Path, name: str) -> None:
    path = csv(tmp_path, EVENTS.replace("user_id", name))
    message = refusal(path, None)
    assert f"the column {name!r} looks like a user's id" in message
    assert f"--user-column {name}" in message
    assert "--rows-are-users" in message
    assert load(path, rows_are_users=True).notes == (Note("columns_ignored", file="events.csv", columns=name),)
    assert load(path, rows_are_users=True).users == 6
    assert load(path, user=name).users == 3


@pytest.mark.parametrize("name", ["users", "item", "party", "count", "price", "usage", "id", "day"])
def test_other_columns_do_not_look_like_users(name: str) -> None:
    assert not looks_like_users(name)


def test_options_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    path = csv(tmp_path, EVENTS)
    with refused("user_column_and_rows", InvalidInput, user="user_id"):
        load(path, user="user_id", rows_are_users=True)
    with refused("user_column_reserved", InvalidInput, user="item"):
        load(path, user="item")
    with refused("syn_without_users", InvalidInput, user="uid"):
        federation_named(["syn"], ReadOptions(user="uid"))
    with refused("user_column_of_mapping", InvalidInput, user="uid", name="dict"):
        as_federation({"a": ["x"]}, user="uid")


def test_sets_are_normalised_user_by_user(tmp_path: Path) -> None:
    federation = load(csv(tmp_path, "uid,item\n1,Tea\n1,tea\n2,tea\n2,rum\n"), user="uid").normalised(["casefold"])
    assert federation.items == ["rum", "tea"]
    assert held(federation) == {"events": [{"tea": 2}, {"tea": 1, "rum": 1}]}
    assert federation.parties[0].users.tolist() == [1, 2]
    again = federation.normalised(["trim"])  # counts are there already
    assert held(again) == held(federation)


def test_users_are_drawn_with_their_whole_sets(tmp_path: Path) -> None:
    rows = "".join(f"{'ab'[user % 2]},{user},{user + step}\n" for user in range(40) for step in range(user % 4 + 1))
    everybody = load(csv(tmp_path, "party,uid,item\n" + rows), user="uid")
    some = with_users(everybody, 10, np.random.default_rng(1))
    assert [party.total for party in some.parties] == [5, 5]
    known = {party: [set(each) for each in sets] for party, sets in held(everybody).items()}
    for party, sets in held(some).items():
        assert all(set(each) in known[party] for each in sets)
        assert len({tuple(each) for each in sets}) == 5
    for drawn in some.parties:
        assert drawn.sets is not None
        assert drawn.users.sum() == len(drawn.sets.items)


@pytest.mark.parametrize("counted", [True, False])
def test_sets_are_written_as_they_are_read(tmp_path: Path, counted: bool) -> None:
    rows = "a,1,tea,2\na,1,rum,1\na,2,tea,1\nb,3,rum,7\n"
    text = "party,uid,item,count\n" + rows if counted else "party,uid,item\na,1,tea\na,1,rum\na,2,tea\nb,3,rum\n"
    federation = load(csv(tmp_path, text), user="uid")
    table = set_rows(federation)
    assert table.column_names == ["party", "user", "item", *(["count"] if counted else [])]
    (tmp_path / "again.parquet").write_bytes(histogram_file(table))
    again = load(tmp_path / "again.parquet", user=USER)
    assert held(again) == held(federation)
    with refused("user_column_unnamed", InvalidInput, source="again.parquet", column="user"):
        load(tmp_path / "again.parquet")


@pytest.mark.parametrize("compiled", [True, False])
def test_gathering_agrees_with_dictionaries(compiled: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in () if compiled else ("gathered", "sort_sets", "merge_repeated"):
        monkeypatch.setattr(set_kernels, name, getattr(set_kernels, name).py_func)
    randomness = np.random.default_rng(3)
    users, items = (randomness.integers(0, 12, 200).astype(np.int32) for _ in range(2))
    counts = randomness.integers(1, 5, 200)
    for given in (None, counts):
        sets = UserSets.grouped(users, 13, items, given)  # the last user has no rows
        used = np.ones(200, dtype=int) if given is None else counts
        for user in range(13):
            expected: dict[int, int] = {}
            for item, count in zip(items[users == user].tolist(), used[users == user].tolist(), strict=True):
                expected[item] = expected.get(item, 0) + count
            entries = slice(*sets.starts[user : user + 2])
            assert sets.counts is not None
            found = dict(zip(sets.items[entries].tolist(), sets.counts[entries].tolist(), strict=True))
            assert found == expected
            assert list(found) == sorted(found)


def test_the_sets_of_some_users() -> None:
    sets = UserSets(np.array([0, 2, 2, 5]), np.array([1, 2, 3, 4, 5], dtype=np.int32), np.arange(1, 6))
    some = sets.of_users(np.array([False, True, True]))
    assert (some.starts.tolist(), some.items.tolist()) == ([0, 0, 3], [3, 4, 5])
    assert some.counts is not None
    assert some.counts.tolist() == [3, 4, 5]
    assert sets.of_users(np.array([2, 0])).items.tolist() == [3, 4, 5, 1, 2]


def test_what_an_entry_counts() -> None:
    sets = UserSets(np.array([0, 2, 3]), np.array([1, 2, 1], dtype=np.int32), np.array([3, 1, 7]))

    def weights(reading: str, items: int) -> list[float] | None:
        found = UserSets(sets.starts, sets.items, sets.counts, SetQuestion(items, reading)).weights
        return None if found is None else found.tolist()

    assert sets.weights is None
    assert weights("holders", 8) is None
    assert weights("holders", 1) == weights("shares", 1) == [0.5, 0.5, 1.0]
    assert weights("use_shares", 1) == [0.75, 0.25, 1.0]
    plain = UserSets(sets.starts, sets.items, None, SetQuestion(1, "use_shares"))
    assert plain.weights is not None
    assert plain.weights.tolist() == [0.5, 0.5, 1.0]


def test_what_cannot_be_asked_is_refused() -> None:
    with refused("reading_occurrences", InvalidInput, readings="holders, shares, use_shares"):
        SetQuestion(1, "occurrences")
    with refused("unknown_name", UnknownName, kind="reading", found="holder", nearest="holders"):
        SetQuestion(1, "holder")
    with refused("items_per_user_range", InvalidInput, max_items=64, items_per_user=0):
        SetQuestion(0, "holders")
    with refused("reading_of_one_item", InvalidInput, reading="shares", items_per_user=8):
        SetQuestion(8, "shares")
