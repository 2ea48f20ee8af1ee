"""Answers, plans and what is printed of them: what parties' honesty adds, and asking for it."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.support.answers import DEPLOYED
from tests.support.every_command import app
from tests.support.refusals import refused
from typer.testing import CliRunner

import treetop
from treetop.cli.rendering import MAX_NAMED, central_lines
from treetop.errors import InvalidInput, TreetopWarning
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.shuffling import CentralGuarantee, central_guarantee

DRINKS = {"harbour": {"1": 40_000, "2": 9_000}, "market": {"1": 12_000, "3": 8_000}}
SMALL: dict[str, Any] = {"encoding": "ids", "bits": 8, "k": 2, "seed": 1}
RUNNER = CliRunner(env={"COLUMNS": "120"})


def test_every_party_of_an_answer_has_a_central_guarantee() -> None:
    for settings, groups in (({"strategy": "panorama"}, 1), ({"mechanism": "fedpem", "levels": 4}, 4)):
        answer = treetop.find(DRINKS, epsilon=1, **SMALL, **settings)
        sizes = {"harbour": 49_000, "market": 20_000}
        for party in answer.parties:
            whole, rest = divmod(sizes[party.name], groups)
            split = [whole + (place < rest) for place in range(groups)]
            assert party.central == central_guarantee(split, Epsilon(1), 1e-8)


def test_epsilon_is_computed_where_parties_are_trusted() -> None:
    answer = treetop.find(
        DRINKS, strategy="panorama", trust="party", central_epsilon=0.4, delta=1e-7, **SMALL
    )  # fmt: skip
    smallest = answer.parties[1].central
    assert smallest is not None
    assert smallest.delta == 1e-7
    assert smallest.epsilon <= 0.4 < smallest.epsilon * 1.02
    assert 2 < answer.epsilon < 4
    assert any(
        choice.code == "epsilon_from_central" and choice.parameters["wanted"] == "(0.4, 1e-7)-DP"
        for choice in answer.choices
    )
    assert not any(note.code == "at_party" for note in answer.notes)


def test_groups_that_come_out_smaller_are_noted() -> None:
    """Canopy's levels are drawn: a party may have fewer users at one than were expected of a smaller party."""
    data = {"a": {"chai": 30_000}, "b": {"chai": 29_000}}
    with pytest.warns(TreetopWarning, match=r"party '.': \(0\.9.*, \(0\.9, 1e-8\)-DP was asked for"):
        answer = treetop.find(data, k=1, seed=1, mechanism="canopy", trust="party", central_epsilon=0.9)
    short = [party.name for party in answer.parties if party.central and party.central.epsilon > 0.9]
    assert short
    assert len([note for note in answer.notes if note.code == "at_party"]) == len(short)


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        ({"trust": "party"}, "central_incomplete"),
        ({"trust": "party", "central_epsilon": 0.4, "epsilon": 2}, "central_with_epsilon"),
        ({"trust": "party", "central_epsilon": 3.0}, "central_epsilon_too_large"),
        ({"trust": "party", "central_epsilon": 0.4, "delta": 0.01}, "delta_too_large"),
        ({"trust": "party", "central_epsilon": -1.0}, "central_epsilon_range"),
    ],
)
def test_wishes_that_cannot_be_kept_are_refused(wish: dict[str, object], told: str) -> None:
    with refused(told, InvalidInput):
        treetop.find(DRINKS, **SMALL, **wish)  # type: ignore[arg-type]
    with refused(told, InvalidInput):
        treetop.plan([49_000, 20_000], **wish)  # type: ignore[arg-type]


def test_a_plan_says_what_the_smallest_party_gets() -> None:
    planned = treetop.plan([49_000, 20_000], trust="party", central_epsilon=0.4)
    rows = {row.mode: row.central_epsilon for row in planned.rows}
    assert rows["ids"] <= 0.4 < rows["canopy"]
    assert planned.to_json()["delta"] == 1e-8
    assert planned.to_json()["modes"][0]["central_epsilon"] == rows["catalogue"]


def test_lines_are_printed_for_the_smallest_parties_first() -> None:
    answer = treetop.find({f"p{i}": {"1": 1000 + i} for i in range(MAX_NAMED + 2)}, **{**SMALL, "k": 1})
    lines = central_lines(answer)
    assert len(lines) == MAX_NAMED + 1
    assert lines[0].startswith("p0: towards the server and readers: ")
    assert lines[-1] == "2 larger parties: --json has what is promised towards the server."
    assert central_lines(DEPLOYED)[0] == (
        "market: towards the server and readers: (0.08, 1e-8)-DP if the party is honest; towards the party: 0.5-LDP."
    )


def test_find_takes_the_options_of_trust() -> None:
    shown = RUNNER.invoke(
        app, ["find", "syn", "--seed", "1", "--trust", "party", "--central-epsilon", "0.5", "--delta", "1e-8", "--json"]
    )
    found = json.loads(shown.stdout)
    assert found["epsilon"] == 3.7
    assert max(party["central"]["epsilon"] for party in found["parties"]) == pytest.approx(0.5, abs=0.01)
    assert CentralGuarantee(**found["parties"][0]["central"]).delta == 1e-8


def test_who_is_asked_only_how_many_items_she_holds_is_in_a_group_of_her_own(tmp_path: Path) -> None:
    table = tmp_path / "sets.csv"
    rows = [f"north,u{user},{1 + user % 7}" for user in range(20_000)]
    table.write_text("party,user_id,item\n" + "\n".join(rows) + "\n", encoding="utf-8")
    wanted: dict[str, Any] = {**SMALL, "strategy": "panorama", "epsilon": 1, "user": "user_id"}
    with pytest.warns(TreetopWarning, match="reported only how many items they hold"):
        surveyed = treetop.find(table, items_per_user="auto", **wanted).parties[0]
    whole = treetop.find(table, items_per_user=8, **wanted).parties[0]
    assert whole.users == 20_000
    assert surveyed.central == central_guarantee([surveyed.users, 20_000 - surveyed.users], Epsilon(1), 1e-8)
    assert whole.central == central_guarantee([20_000], Epsilon(1), 1e-8)
