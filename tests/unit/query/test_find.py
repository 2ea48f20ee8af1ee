from pathlib import Path
from typing import Any

import pytest
from tests.support.populations import zipf
from tests.support.refusals import refused

import treetop
from treetop.datasets.loading import as_federation
from treetop.encoding.item_codecs import Ids
from treetop.errors import InvalidInput, TreetopWarning, UnknownName
from treetop.mechanisms.gtf import Gtf
from treetop.mechanisms.query import Query
from treetop.oracles.krr import KRandomizedResponse
from treetop.query.find import simulated_answer
from treetop.wording import Note

DATA = {"a": zipf(6000, 40), "b": zipf(3000, 30)}
SMALL: dict[str, Any] = {"encoding": "ids", "bits": 8}
EXAMPLE = Path(__file__).parents[3] / "examples" / "coffee_shops.csv"


def test_find_answers_with_error_bars() -> None:
    answer = treetop.find(DATA, k=3, epsilon=4, seed=1, **SMALL)
    assert (answer.mechanism, answer.oracle, answer.encoding, answer.seed) == ("panorama", "auto", "ids", 1)
    assert (answer.mode, answer.levels, answer.missing, answer.covered.share) == ("simulation", 1, (), 1.0)
    assert len(answer.items) == 3
    assert all(row.stderr > 0 and row.frequency == row.count / answer.users for row in answer.items)
    assert [party.name for party in answer.parties] == ["a", "b"]
    assert answer.users == answer.covered.users == sum(sum(held.values()) for held in DATA.values())
    assert len(answer.parties[0].trace) == 1
    assert answer.choices[-1].code == "chosen_because"


def test_the_same_seed_gives_the_same_json_and_none_is_drawn_when_given() -> None:
    first, again = (treetop.find(DATA, k=3, seed=9, **SMALL).to_json() for _ in range(2))
    assert first == again
    drawn = treetop.find(DATA, k=3, **SMALL).seed
    assert drawn is not None
    assert 0 <= drawn < 2**32


def test_a_path_will_do() -> None:
    question = Query(k=3, encoding="words")
    by_path, loaded = (simulated_answer(as_federation(data), question, seed=1) for data in (EXAMPLE, str(EXAMPLE)))
    assert by_path == loaded
    assert by_path.notes


def test_notes_are_kept_and_each_is_one_warning() -> None:
    with pytest.warns(TreetopWarning) as caught:
        answer = treetop.find({"a": DATA["a"]}, k=3, mechanism="tap", beta=0.2, levels=4, seed=1, **SMALL)
    assert answer.notes == (
        Note("setting_unused", mechanism="tap", setting="beta"),
        Note("nobody_to_share_with", mechanism="tap"),
    )
    assert [str(warning.message) for warning in caught] == [note.text for note in answer.notes]
    assert {warning.filename for warning in caught} == {__file__}
    assert treetop.find({"a": DATA["a"]}, k=3, mechanism="gtf", seed=1, **SMALL).notes == ()


class Mine(Gtf):
    name = "mine"


def test_mechanism_oracle_and_encoding_may_be_objects() -> None:
    named = treetop.find(DATA, k=3, mechanism="gtf", oracle="krr", encoding="ids", bits=8, seed=1)
    mine = Mine()
    answer = treetop.find(DATA, k=3, mechanism=mine, oracle=KRandomizedResponse(), encoding=Ids(8), seed=1)
    assert (answer.mechanism, answer.oracle, answer.encoding) == ("mine", "krr", "ids")
    assert answer.items == named.items
    with refused("bits_of_encoding", InvalidInput, bits=16, found=8):
        treetop.find(DATA, k=3, encoding=Ids(8), bits=16)
    with refused("catalogue_option_unused", InvalidInput, found="the mechanism 'mine'"):
        treetop.find(DATA, k=3, mechanism=mine, catalogue=["1"])


def test_advice_comes_when_noise_swamps_the_last_item() -> None:
    assert treetop.find(DATA, k=10, epsilon=0.2, seed=1, **SMALL).advice is not None
    assert treetop.find(DATA, k=1, epsilon=8, seed=1, **SMALL).advice is None
    few = {"a": {"1": 3, "2": 2, "3": 1}}
    assert treetop.find(few, k=3, mechanism="gtf", epsilon=3, seed=1, levels=4, **SMALL).advice is None


def test_an_item_that_is_marked_as_more_than_noise_is_not_said_to_be_swamped() -> None:
    answer = treetop.find("syn", k=10, epsilon=0.5, mechanism="canopy", seed=1)
    last = answer.items[-1]
    assert last.significant  # by the best set of parties, although all of them together are below the same bound
    assert last.count < 5.5 * last.stderr
    assert answer.advice is None


@pytest.mark.parametrize(
    ("changes", "error", "reason"),
    [
        ({"mechanism": "tapss"}, UnknownName, "did you mean 'taps'"),
        ({"oracle": "grr"}, UnknownName, "unknown oracle 'grr'"),
        ({"simulator": "real"}, UnknownName, "unknown simulator"),
        (
            {"strategy": "tree"},
            UnknownName,
            "unknown strategy 'tree', expected one of panorama, trie, catalogue, hashed",
        ),
        ({"level": 3}, UnknownName, "did you mean 'levels'"),
        ({"k": 0}, InvalidInput, "k must be"),
        ({"k": 10**6}, InvalidInput, "at most the"),
        ({"epsilon": float("nan")}, InvalidInput, "epsilon must be"),
        ({"seed": -1}, InvalidInput, "seed"),
    ],
)
def test_bad_questions_are_refused(changes: dict[str, Any], error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        treetop.find(DATA, **{"k": 3, **SMALL, **changes})
