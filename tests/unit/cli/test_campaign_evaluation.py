"""`treetop evaluate --campaign`, as a user sees it."""

import json
from pathlib import Path

import pyarrow.csv
import pytest
from tests.support.every_command import app
from typer.testing import CliRunner

from treetop.errors import InvalidInput

RUNNER = CliRunner(env={"COLUMNS": "120"})


@pytest.fixture
def teas(tmp_path: Path) -> Path:
    rows = [
        f"{first}{second},{20_000 // (7 * place + other + 1)}"
        for place, first in enumerate("abcd")
        for other, second in enumerate("klmnop")
    ]
    path = tmp_path / "teas.csv"
    path.write_text("\n".join(["item,users", *rows]) + "\n", encoding="utf-8")
    return path


def asked(data: Path, *more: str) -> list[str]:
    weeks = ["--campaign", "--weeks", "4", "--cycle", "2", "--drift", "1", "--ks", "2", "--seed", "1"]
    return ["evaluate", str(data), *weeks, "--repeats", "1", *more]


def test_ways_to_ask_stand_side_by_side(teas: Path) -> None:
    shown = RUNNER.invoke(app, asked(teas))
    assert shown.exit_code == 0
    for words in ("canopy", "panorama", "everybody", "rotation", "seeded", "ε a report", "weeks 2-", "seed 1"):
        assert words in shown.output


def test_rows_as_json_and_in_a_file(teas: Path, tmp_path: Path) -> None:
    target = tmp_path / "rows.csv"
    told = RUNNER.invoke(app, asked(teas, "--json", "--mechanisms", "canopy", "--output", str(target)))
    rows = json.loads(told.stdout)
    assert [row["design"] for row in rows] == ["everybody", "rotation", "seeded"]
    assert len(rows[0]["f1_of_weeks"]) == 4
    assert (rows[0]["weekly_epsilon"], rows[0]["lifetime_epsilon"], rows[2]["lifetime_epsilon"]) == (1.0, 4.0, 4.0)
    assert "3 of 3 rows are in" in told.stderr
    assert pyarrow.csv.read_csv(target)["f1_week_4"].to_pylist() == [row["f1_of_weeks"][3] for row in rows]


def test_what_cannot_be_asked_is_refused(teas: Path) -> None:
    refused = RUNNER.invoke(app, asked(teas, "--mechanisms", "taps"))
    assert isinstance(refused.exception, InvalidInput)
    refused = RUNNER.invoke(app, asked(teas, "--drift", "3"))
    assert "drift must be a number of items from 0 to k = 2, found 3" in str(refused.exception)
