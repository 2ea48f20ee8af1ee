import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from tests.support.refusals import refused
from typer.testing import CliRunner

from treetop.audit.checks import NOT_SEEN, AuditReport, Check
from treetop.cli import audit as command
from treetop.errors import InvalidInput, UnknownName

GOOD, BAD = Check("fine", True, "a claim", 0.5, 1), Check("broken", False, "another", 2, 1)


def app() -> typer.Typer:
    made = typer.Typer()
    made.command()(command.audit)
    return made


def found(*checks: Check) -> Callable[..., AuditReport]:
    def run(quick: bool, tick: Callable[[str, float], None], mechanism: str | None, oracle: str | None) -> AuditReport:
        tick("something", 1)
        return AuditReport(checks)

    return run


def test_a_pass_is_one_line_for_each_claim_and_what_is_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run_audit", found(GOOD))
    result = CliRunner().invoke(app(), ["--quick"])
    assert result.exit_code == 0
    first, title, *limits, last = result.stdout.splitlines()
    assert first.startswith("pass  fine")
    assert title == "not seen by any of these checks:"
    assert limits == [f"  - {limit}" for limit in NOT_SEEN]
    assert last == "PASS  1 of 1 claims hold"


def test_a_failure_exits_with_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run_audit", found(GOOD, BAD))
    result = CliRunner().invoke(app(), [])
    assert result.exit_code == 1
    assert "1 of 2 claims hold" in result.stdout


def test_json_is_all_that_standard_output_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "run_audit", found(GOOD, BAD))
    result = CliRunner().invoke(app(), ["--json"])
    assert result.exit_code == 1
    printed = json.loads(result.stdout)
    assert printed["verdict"] == "fail"
    assert printed["not_seen"] == list(NOT_SEEN)
    assert printed["checks"][0] == {"name": "fine", "passed": True, "claim": "a claim", "measured": 0.5, "limit": 1}


def test_one_mechanism_and_one_oracle_can_be_named() -> None:
    result = CliRunner().invoke(app(), ["--quick", "--mechanism", "catalogue", "--json"])
    assert [check["name"] for check in json.loads(result.stdout)["checks"]] == [
        "end_to_end_catalogue", "tight_catalogue", "end_to_end_catalogue_malicious",
    ]  # fmt: skip


def test_an_unknown_name_is_refused() -> None:
    result = CliRunner().invoke(app(), ["--oracle", "nope"])
    assert isinstance(result.exception, UnknownName)


@pytest.mark.slow
def test_the_quick_audit_passes() -> None:
    result = CliRunner().invoke(app(), ["--quick", "--json"])
    assert json.loads(result.stdout)["verdict"] == "pass"


def test_a_document_is_written_also_when_a_claim_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(command, "run_audit", found(GOOD, BAD))
    result = CliRunner().invoke(app(), ["--quick", "--output", str(tmp_path / "audit.json")])
    assert result.exit_code == 1
    told = json.loads((tmp_path / "audit.json").read_text())
    assert (told["verdict"], told["extent"]) == ("fail", "every mechanism and oracle, quick sizes and samples")


def test_a_document_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    with refused("output_ending", InvalidInput):
        CliRunner().invoke(app(), ["--output", str(tmp_path / "audit.pdf")], catch_exceptions=False)
