"""`treetop capacity` as a user sees it."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from treetop.cli.app import app

RUNNER = CliRunner(env={"COLUMNS": "100"})


def test_a_billion_users_are_a_table_with_formulas() -> None:
    told = RUNNER.invoke(app, ["capacity"])
    assert told.exit_code == 0
    for words in ("1,000,000,000 users in 100 parties", "1,653 /s", "users / seconds that the task is open", "Money",
                  "assumptions: say yours", "this is extrapolated"):  # fmt: skip
        assert words in " ".join(told.output.split())  # wherever its lines end


def test_as_json_and_in_a_file(tmp_path: Path) -> None:
    target = tmp_path / "capacity.json"
    told = RUNNER.invoke(app, ["capacity", "--users", "1e6", "--parties", "4", "--json", "--output", str(target)])
    content = json.loads(told.stdout)
    assert content == json.loads(target.read_text())
    assert (content["load"]["users"], content["load"]["parties"]) == (10**6, 4)
    figures = {figure["name"]: figure["value"] for figure in content["figures"]}
    assert figures["reports a second, mean"] == pytest.approx(1e6 / 7 / 86400)
    assert content["notes"] == []


@pytest.mark.parametrize(("options", "told"), [
    (["--users", "1.5"], "--users must be a whole number, such as 1000000 or 1e6, found '1.5'"),
    (["--users", "many"], "--users must be a whole number"),
    (["--users", "inf"], "--users must be a whole number"),
    (["--oracle", "rappor"], "unknown oracle whose counting was measured 'rappor'"),
])  # fmt: skip
def test_what_cannot_be_planned_is_refused(options: list[str], told: str) -> None:
    refused = RUNNER.invoke(app, ["capacity", *options])
    assert refused.exit_code != 0
    assert told in str(refused.exception)
