"""Options of `treetop up` that make no survey, or no campaign."""

from pathlib import Path

import pytest
from tests.support.every_command import app
from typer.testing import CliRunner

from treetop.services.local.survey import SurveyPlan


def refusal(*options: str) -> str:
    done = CliRunner().invoke(app, ["up", *options])
    assert done.exit_code != 0
    return str(done.exception) + done.output


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--question", "Why?"], "--question, --collect and --origin are for --survey"),
        (["--collect", "1m"], "are for --survey"),
        (["--survey", "--mode", "rounds"], "nobody keeps a page open for rounds"),
        (["--survey", "--origin", "*"], "--origin must name every origin"),
        (["--survey", "--origin", "http://survey.example"], "plain http is for this machine alone"),
        (["--survey", "--collect", "soon"], "--collect expects a duration"),
        (["--survey", "--question", "a\nb"], "--question must be without control"),
        (["--weeks", "3"], "--weeks, --drift and --every are for --campaign"),
        (["--campaign", "--mode", "rounds"], "--campaign expects simulated users in one-shot mode"),
        (["--campaign", "--stay"], "--open and --stay are for a single query"),
        (["--campaign", "--open"], "--open and --stay are for a single query"),
    ],
)
def test_what_is_refused(options: list[str], told: str) -> None:
    assert told in refusal(*options)


def test_a_federation_without_a_survey_does_not_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "treetop.cli.federation.up.answered", lambda *_, **__: (_ for _ in ()).throw(RuntimeError("begun"))
    )
    assert "begun" in refusal("--directory", str(tmp_path / "plain"), "--users", "100", "--seed", "1")
    assert "without a survey: name another" in refusal("--directory", str(tmp_path / "plain"), "--survey")
    assert SurveyPlan.load(tmp_path / "plain") is None
    assert "begun" in refusal("--directory", str(tmp_path / "asked"), "--users", "100", "--seed", "1", "--survey")
    assert SurveyPlan.load(tmp_path / "asked") == SurveyPlan("Which fruit do you like best?", 600)
    assert "begun" in refusal("--directory", str(tmp_path / "asked"), "--survey")
