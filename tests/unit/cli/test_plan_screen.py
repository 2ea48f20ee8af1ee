"""`treetop plan` and the hashed way of `treetop find`, as a user sees them."""

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from tests.support.every_command import app
from typer.testing import CliRunner

from treetop.cli.plan import whole_number
from treetop.cli.rendering import evaluation_table
from treetop.errors import InvalidInput
from treetop.evaluation.evaluate import Row

RUNNER = CliRunner(env={"COLUMNS": "120"})


def test_a_plan_is_a_table_with_its_explanation() -> None:
    shown = RUNNER.invoke(app, ["plan", "--users", "1e5,50000", "--frequency", "0.01"])
    assert shown.exit_code == 0
    for words in ("150,000 users in 2 parties", "catalogue", "word list", "in 9 of 10 runs", "epsilon", "1.000%"):
        assert words in shown.output


def test_a_hopeless_plan_says_never() -> None:
    shown = RUNNER.invoke(app, ["plan", "--users", "5", "--epsilon", "0.1", "--frequency", "0.001"])
    assert "never" in shown.output
    assert "1 party" in shown.output
    assert "no epsilon up to 4, the most that devices accept" in shown.output


def test_a_catalogue_of_k_items_is_said_to_be_listed_whole() -> None:
    shown = RUNNER.invoke(app, ["plan", "--users", "5000", "--k", "4", "--catalogue-size", "4", "--frequency", "0.01"])
    for words in ("4 known items, all listed", "always", "just k = 4 items", "any epsilon and any users do"):
        assert words in shown.output


def test_what_a_plan_says_of_sets_and_short_catalogues_starts_on_a_line_of_its_own() -> None:
    shown = RUNNER.invoke(
        app, ["plan", "--users", "5000", "--k", "4", "--catalogue-size", "4", "--items-per-user", "8"]
    )
    assert "\\n" not in shown.output
    for words in ("\n\nThe catalogue holds just k = 4 items", "\n\nA report speaks of up to 8 items"):
        assert words in shown.output


@pytest.mark.parametrize("users", ["1", "2", "3"])
def test_whoever_is_alone_is_promised_nothing_by_shuffling(users: str) -> None:
    planned = json.loads(RUNNER.invoke(app, ["plan", "--users", users, "--json"]).stdout)
    assert {row["central_epsilon"] for row in planned["modes"]} == {2.0}


@pytest.mark.parametrize("epsilon", ["50", "700"])
def test_an_epsilon_that_leaves_no_noise_is_planned(epsilon: str) -> None:
    planned = json.loads(RUNNER.invoke(app, ["plan", "--users", "100000", "--epsilon", epsilon, "--json"]).stdout)
    assert all(row["found"] < 0.01 and row["marked"] < 0.01 for row in planned["modes"])


def test_a_plan_that_trusts_parties_says_which_modes_need_a_smaller_epsilon() -> None:
    trusting = ["plan", "--users", "250000", "--trust", "party", "--central-epsilon", "0.1"]
    shown = " ".join(RUNNER.invoke(app, trusting).output.split())
    assert "canopy; canopy, alone: groups are smaller there, so devices would report with a smaller ε" in shown
    assert "a smaller ε" not in RUNNER.invoke(app, trusting[:3]).output


def test_a_plan_as_json_and_as_a_plot(tmp_path: Path) -> None:
    target = tmp_path / "plan.svg"
    shown = RUNNER.invoke(app, ["plan", "--users", "1000", "--json", "--plot", str(target)])
    planned = json.loads(shown.stdout)
    assert planned["power"] == 0.9
    assert target.read_text(encoding="utf-8").startswith("<?xml")


def test_a_campaign_is_planned_by_cycles() -> None:
    shown = RUNNER.invoke(app, ["plan", "--campaign", "--users", "100000,50000", "--weeks", "24"])
    assert shown.exit_code == 0
    for words in (
        "150,000 users in 2 parties, 24 weeks, lifetime ε = 8", "once in 12 weeks", "every week", "12,499",
        "they answer in all weeks", "they never answer (a report costs too much); in all weeks at ε 4",
        "Devices as shipped pay 4 a report, 4 in 84 days and 8 in a lifetime",
    ):  # fmt: skip
        assert words in " ".join(shown.output.split())  # wherever its lines end
    windows = RUNNER.invoke(app, ["plan", "--campaign", "--users", "100000", "--lifetime-epsilon", "8", "--weeks", "6"])
    assert "silent from week 4 on (the window is spent)" in windows.output
    told = RUNNER.invoke(app, ["plan", "--campaign", "--users", "100000", "--lifetime-epsilon", "4", "--json"])
    assert json.loads(told.stdout)["rotations"][-1]["as_shipped"]["silent_from"] is None


def test_options_of_one_query_are_refused_beside_those_of_a_campaign() -> None:
    refused = RUNNER.invoke(app, ["plan", "--campaign", "--users", "1000", "--epsilon", "2"])
    assert "planned by --weeks and --lifetime-epsilon, found --epsilon" in str(refused.exception)
    refused = RUNNER.invoke(app, ["plan", "--users", "1000", "--weeks", "2"])
    assert "expected --campaign" in str(refused.exception)


def test_bad_users_are_refused() -> None:
    refused = RUNNER.invoke(app, ["plan", "--users", "10,many"])
    assert isinstance(refused.exception, InvalidInput)


@pytest.mark.parametrize(("extra", "marks"), [([], "recovered"), (["--word-list"], "listed")])
def test_find_marks_where_a_name_comes_from(tmp_path: Path, extra: list[str], marks: str) -> None:
    data, words = tmp_path / "teas.csv", tmp_path / "words.txt"
    data.write_text("item,users\ngreen tea,40000\nblack tea,20000\n", encoding="utf-8")
    words.write_text("green tea\nblack tea\n", encoding="utf-8")
    options = [*extra, str(words)] if extra else []
    shown = RUNNER.invoke(app, ["find", str(data), "--k", "1", "--epsilon", "6", "--seed", "1", *options])
    assert shown.exit_code == 0
    assert "green tea" in shown.output
    assert marks in shown.output


def test_a_table_with_variants_fits_the_screen() -> None:
    common = ("auto", "hashed", 0.5, 100, 1, 50, 0.123, 0.045, 0.123, 0.045, 0.5, 1_500_000.0, 0.123)
    rows = [Row("drinks", name, *common) for name in ("canopy", "panorama:catalogue")]
    console = Console(width=80, record=True, file=StringIO())
    console.print(evaluation_table(rows))
    shown = console.export_text()
    assert "panorama:catalogue auto   0.5 100 0.123 ± 0.045" in shown
    assert "…" not in shown


@pytest.mark.parametrize(("text", "number"), [("1e9", 10**9), ("1,000", 1000), ("1_000.0", 1000), ("12", 12)])
def test_whole_numbers_as_people_write_them(text: str, number: int) -> None:
    assert whole_number(text) == number
