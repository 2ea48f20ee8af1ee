import json
import re
from copy import deepcopy
from pathlib import Path
from typing import Any

import matplotlib
import pytest
from tests.support.answers import DEPLOYED, KEYS
from tests.support.populations import zipf

import treetop
from treetop.answers.answer import Answer
from treetop.answers.json_form import SCHEMA
from treetop.errors import PeerViolation

DATA = {"a": zipf(6000, 40), "b": zipf(3000, 30)}
SMALL: dict[str, Any] = {"encoding": "ids", "bits": 8}
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "answer_json.md"


def test_the_json_has_its_keys_in_one_order() -> None:
    found = treetop.find(DATA, k=3, seed=1, **SMALL).to_json()
    for content in (found, DEPLOYED.to_json()):
        assert list(content) == KEYS + ["campaign"] * (content is not found)
        assert content["schema"] == SCHEMA == 1
        assert list(content["items"][0]) == [
            "item", "count", "frequency", "stderr", "significant", "source", "by_party",
        ]  # fmt: skip
        assert list(content["items"][0]["by_party"][0]) == ["party", "count", "stderr"]
        assert list(content["parties"][0]) == [
            "name", "users", "uplink_bits", "implausible", "share", "expected", "coverage", "central",
        ]  # fmt: skip
        assert list(content["parties"][1]["central"]) == ["epsilon", "delta"]
        assert list(content["truth"]) == ["f1", "ncr"]
        assert list(content["covered"]) == ["users", "of", "known", "share"]
        assert list(content["privacy"]) == ["epsilon", "reports_per_user", "oracle", "not_covered"]
    assert list(DEPLOYED.to_json()["missing"][0]) == ["name", "reason", "levels", "expected"]
    assert list(DEPLOYED.to_json()["outside"]) == ["share", "stderr", "true_share"]
    assert found["privacy"]["epsilon"] == "2"
    assert [party["share"] for party in found["parties"]] == pytest.approx([2 / 3, 1 / 3], abs=1e-3)
    assert all((party["expected"], party["coverage"]) == (party["users"], 1.0) for party in found["parties"])


@pytest.mark.parametrize("mechanism", ["panorama", "canopy", "taps", "fedpem"])
def test_what_parties_counted_adds_up(mechanism: str) -> None:
    answer = treetop.find(DATA, k=3, seed=1, mechanism=mechanism, **SMALL)
    for row in answer.items:
        assert len(row.by_party) == row.parties
        assert {each.party for each in row.by_party} <= {"a", "b"}
        assert sum(each.count for each in row.by_party) == pytest.approx(row.count)
        assert sum(each.stderr**2 for each in row.by_party) ** 0.5 == pytest.approx(row.stderr)


def test_an_answer_is_read_back_as_it_was_written() -> None:
    for answer in (DEPLOYED, treetop.find(DATA, k=3, seed=1, **SMALL)):
        content = json.loads(json.dumps(answer.to_json()))
        assert Answer.from_json(content).to_json() == content
    assert Answer.from_json(DEPLOYED.to_json()) == DEPLOYED
    unscored = DEPLOYED.to_json()
    del unscored["truth"]
    assert Answer.from_json(unscored).truth is None
    assert "truth" not in Answer.from_json(unscored).to_json()


def changed(path: tuple[str | int, ...], value: object) -> dict[str, Any]:
    content = deepcopy(DEPLOYED.to_json())
    inner: Any = content
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    return content


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (None, "answer: expected an object, found NoneType"),
        ([], "answer: expected an object, found list"),
        ({}, "schema of the answer: expected 1, found None"),
        (changed(("schema",), 2), "schema of the answer: expected 1, found 2"),
        (changed(("surprise",), 1), "fields of answer"),
        (changed(("k",), "2"), "answer.k: expected a whole number, found str"),
        (changed(("epsilon",), float("nan")), "answer.epsilon: expected a finite number, found nan"),
        (changed(("items", 0, "significant"), 1), "answer.items.significant: expected one of True, False"),
        (changed(("items", 0, "source"), "guessed"), "answer.items.source: expected one of listed, recovered"),
        (changed(("items", 1), {"item": "x"}), "fields of answer.items"),
        (changed(("parties", 0, "users"), -1), "answer.parties.users: expected from 0"),
        (changed(("notes",), ["x"]), "answer.notes: expected an object, found str"),
        (changed(("notes", 0, "code"), "surprise"), "answer.notes: expected a note that this version knows"),
        (
            changed(("choices", 0, "parameters", "words"), "x"),
            "answer.choices: expected a note that this version knows",
        ),
        (changed(("choices", 0, "parameters", "more"), 1), "answer.choices: expected a note that this version knows"),
        (changed(("missing",), None), "answer.missing: expected a list, found NoneType"),
        (changed(("covered", "of"), "guessed"), "answer.covered.of: expected one of expected, known"),
        (changed(("privacy", "epsilon"), 0.5), "answer.privacy.epsilon: expected a text, found float"),
        (changed(("privacy", "epsilon"), "much"), "answer.privacy.epsilon: expected decimal digits of an epsilon"),
        (changed(("truth",), {"f1": 1.0}), "fields of answer.truth"),
        (changed(("truth",), None), "answer.truth: expected an object, or no such key"),
        (changed(("schema",), True), "schema of the answer: expected 1, found True"),
    ],
)
def test_anything_else_is_refused(content: Any, reason: str) -> None:
    with pytest.raises(PeerViolation, match=re.escape(reason)):
        Answer.from_json(content)


def paths(content: Any, name: str) -> set[str]:
    """Return every key in an object and in what it holds, as the page writes them: `items[].by_party[].count`."""
    if isinstance(content, list):
        return {path for entry in content for path in paths(entry, f"{name}[]")}
    if not isinstance(content, dict):
        return set()
    named = {f"{name}.{key}".removeprefix("."): value for key, value in content.items()}
    inner = {path for key, value in named.items() if not key.endswith(".parameters") for path in paths(value, key)}
    return {*named, *inner}


def test_every_key_is_described() -> None:
    described = set(re.findall(r"^\| `([a-z_0-9.\[\]]+)` \|", PAGE.read_text(), re.MULTILINE))
    assert described == paths(DEPLOYED.to_json(), "")


def test_an_answer_is_a_table() -> None:
    answer = treetop.find(DATA, k=3, seed=1, **SMALL)
    columns = ["item", "count", "frequency", "stderr", "parties", "true_count", "significant", "source"]
    assert answer.to_arrow().column_names == columns
    assert answer.to_pandas()["item"].tolist() == [row.item for row in answer.items]
    assert DEPLOYED.to_arrow()["true_count"].to_pylist() == [None, None]


def test_an_answer_can_be_plotted() -> None:
    matplotlib.use("Agg")
    axes = treetop.find(DATA, k=3, seed=1, **SMALL).plot()
    assert len(axes.get_yticklabels()) == 3
    assert axes.get_xlabel() == "users"
    assert treetop.find(DATA, k=2, seed=1, **SMALL).plot(axes) is axes
    assert len(DEPLOYED.plot().collections) < len(axes.collections)  # no true counts are known
    matplotlib.pyplot.close("all")


def test_an_answer_shows_itself_in_one_line() -> None:
    assert repr(DEPLOYED) == "Answer(taps, one-shot, olh oracle, words, k = 2, ε = 0.5: chai, #0f)"
