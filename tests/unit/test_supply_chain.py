"""What is installed is listed, looked up and locked."""

import json
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from tools.supply_chain import advisories, sbom
from tools.supply_chain.locks import LOCKS, REQUIREMENTS, ROOT, all_pins, locked

TODAY = date(2026, 6, 1)
RECORD: Mapping[str, Any] = tomllib.loads(advisories.REVIEWED.read_text())
KEPT = json.loads(sbom.SBOM.read_text())


def facts(component: Mapping[str, Any]) -> tuple[str, str, str, str]:
    told = {each["name"]: each["value"] for each in component["properties"]}
    return (
        component["name"], component["version"], told["treetop:lock:hashes"], told.get("treetop:lock:marker", "")
    )  # fmt: skip


def test_the_bill_of_materials_is_the_locks_both_ways() -> None:
    in_lock = {(each.name, each.version, sbom.lock_digest(each), each.marker) for each in locked("runtime")}
    assert in_lock <= {facts(each) for each in KEPT["components"]}
    scopes = {f"{each['name']}=={each['version']}": each["scope"] for each in KEPT["components"]}
    assert scopes.keys() == all_pins()
    assert len(scopes) == len(KEPT["components"])
    used = {each.pin for name in ("runtime", "words", "flower") for each in locked(name)}
    needed = {each.pin for each in locked("party")}
    assert {pin for pin, scope in scopes.items() if scope == "required"} == needed
    assert {pin for pin, scope in scopes.items() if scope == "optional"} == used - needed


def test_the_bill_of_materials_is_the_same_bytes_each_time() -> None:
    assert sbom.written(sbom.bill()) == sbom.SBOM.read_text()
    assert {"serialNumber", "timestamp", "://"} & set(sbom.SBOM.read_text().replace('"', " ").split()) == set()
    assert "://" not in sbom.SBOM.read_text()


def test_every_licence_is_known() -> None:
    """Whoever locks a package that is not installed here installs it somewhere once, and runs `make sbom` there."""
    assert [each["purl"] for each in KEPT["components"] if not each.get("licenses")] == []


def test_the_bill_of_materials_has_the_shape_that_readers_expect() -> None:
    assert (KEPT["bomFormat"], KEPT["specVersion"]) == ("CycloneDX", "1.6")
    references = [each["bom-ref"] for each in KEPT["components"]]
    assert len(set(references)) == len(references)
    assert all(each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}" for each in KEPT["components"])


def test_locks_agree_with_each_other() -> None:
    runtime = {each.pin for each in locked("runtime")}
    assert {each.pin for each in locked("party")} <= runtime
    dev = {each.pin for each in locked("dev")}
    assert runtime <= dev
    named = {pin.partition("==")[0] for pin in dev}
    assert {each.pin for each in locked("words") if each.name in named} <= dev
    there = {*REQUIREMENTS.glob("*.txt"), *(ROOT / "bridges").glob("*/requirements*.txt")}
    assert set(LOCKS.values()) == there
    assert not any("://" in path.read_text() for path in there)


def test_every_locked_version_is_on_the_list() -> None:
    assert advisories.recorded(RECORD) == all_pins()
    for check in RECORD["check"]:
        assert isinstance(check["date"], date)
        assert check["against"].startswith("nothing") == (check["result"] == advisories.NOT_CHECKED)


def test_no_advisory_is_ignored_for_ever() -> None:
    assert advisories.ignored(RECORD, datetime.now(UTC).date())[1] == []
    entry = {"id": "X-1", "package": "a", "reason": "not called", "expires": date(2026, 5, 31)}
    assert advisories.ignored({"ignored": [entry | {"expires": TODAY}]}, TODAY) == ({"X-1"}, [])
    ids, problems = advisories.ignored({"ignored": [entry, entry | {"reason": " "}, {"id": "X-2"}]}, TODAY)
    assert (ids, len(problems)) == (set(), 3)
    assert "was ignored until 2026-05-31" in problems[0]


def test_what_was_not_looked_up_is_never_called_clean() -> None:
    told = {"dependencies": [
        {"name": "a", "version": "1", "vulns": []}, {"name": "B_b", "version": "2", "vulns": [{"id": "X-1"}]},
        {"name": "c", "skip_reason": "not found"}, {"name": "d", "version": "9", "vulns": []},
    ]}  # fmt: skip
    found = advisories.read_answer(json.dumps(told), ["a==1", "b-b==2", "c==3", "d==4", "e==5"])
    assert (found.clean, found.known) == ({"a==1"}, {"b-b==2": ["X-1"]})
    assert found.unchecked == {"c==3": "not found", "d==4": "no answer", "e==5": "no answer"}
    for nonsense in ("", "[]", "{}", "null", '{"dependencies": [1]}'):
        assert advisories.read_answer(nonsense, ["a==1"]).unchecked == {"a==1": "no answer"}


def test_without_an_auditor_nothing_is_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert advisories.main(tmp_path / "nowhere", record=False) == advisories.UNCHECKED
    assert f"0 with nothing known against them, 0 with advisories, {len(all_pins())} not" in capsys.readouterr().out


def test_the_record_can_be_read_again() -> None:
    found = advisories.Findings({"a==1"}, {"b==2": ["X-1", "X-2"]}, {"c==3": "no answer"})
    kept = {"ignored": [{"id": "X-1", "package": "b", "reason": 'not "called"', "expires": TODAY}]}
    read = tomllib.loads(advisories.record_of(found, TODAY, kept))
    assert advisories.recorded(read) == {"a==1", "b==2", "c==3"}
    assert read["ignored"] == kept["ignored"]
    assert [check["result"] for check in read["check"]] == ["nothing known", "not checked", "known: X-1, X-2"]
