"""What is installed is listed, looked up and locked; what is promised is noted and can be signed."""

import json
import shutil
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from tools.supply_chain import advisories, promises, sbom
from tools.supply_chain.locks import LOCKS, REQUIREMENTS, ROOT, all_pins, locked

from treetop.adapters.system.ed25519 import SigningKey
from treetop.errors import InvalidInput

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
    used = {each.pin for name in ("runtime", "words") for each in locked(name)}
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
    assert sorted(f"{name}.txt" for name in LOCKS) == sorted(path.name for path in REQUIREMENTS.glob("*.txt"))


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


def test_changed_promises_have_an_entry() -> None:
    notes = promises.NOTES.read_text()
    assert promises.noted(notes) == promises.digests(), "say in docs/promises.md what changed, then `make promises`"
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"\n## {version}" in notes


@pytest.mark.parametrize(("page", "old", "new"), [
    ("reliability.md", "nothing acknowledged is lost", "little acknowledged is lost"),
    ("explanation/privacy_guarantee.md", "<=  e^ε", "<=  e^2ε"),
    ("explanation/privacy_guarantee.md", "| `taps` | a whole run is ε-LDP", "| `taps` | a whole run is 2ε-LDP"),
    ("explanation/threat_model.md", "sends the same bytes |", "sends other bytes |"),
])  # fmt: skip
def test_a_changed_promise_without_an_entry_is_noticed(tmp_path: Path, page: str, old: str, new: str) -> None:
    for name in promises.PAGES:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / "docs" / name, tmp_path / name)
    assert promises.digests(tmp_path) == promises.digests()
    text = (tmp_path / page).read_text()
    assert old in text
    (tmp_path / page).write_text(text.replace(old, new))
    changed = promises.digests(tmp_path)
    assert {name for name in changed if changed[name] != promises.digests()[name]} == {page}
    renewed = promises.renewed(promises.NOTES.read_text(), changed)
    assert promises.noted(renewed) == changed
    assert promises.renewed(renewed, promises.digests()) == promises.NOTES.read_text()


def test_which_test_shows_a_promise_may_change() -> None:
    row = "| R1 | nothing is lost | `test_a.py` | - |"
    assert promises.promises_in(row, 2) == promises.promises_in(row.replace("test_a", "test_b"), 2)
    assert promises.promises_in(row, 2) != promises.promises_in(row.replace("nothing", "little"), 2)


def test_notes_of_older_versions_stay() -> None:
    row = "| [a.md](a.md) | `{}` |\n"
    old = f"# Notes\n\n## 2\n\n- new\n\n{row.format('0' * 64)}\n## 1\n\n{row.format('1' * 64)}"
    new = promises.renewed(old, {"a.md": "f" * 64})
    assert new == old.replace("0" * 64, "f" * 64)


def test_notes_are_signed_and_verified(tmp_path: Path) -> None:
    notes, key = tmp_path / "promises.md", SigningKey.generate()
    shutil.copy(promises.NOTES, notes)
    key.save(tmp_path / "release.key")
    assert not promises.verified(notes, [key.public])
    signature = promises.sign(notes, tmp_path / "release.key")
    assert promises.verified(notes, [key.public])
    assert not promises.verified(notes, [SigningKey.generate().public])
    signed = notes.read_bytes()
    notes.write_bytes(signed + b" ")
    assert not promises.verified(notes, [key.public])
    notes.write_bytes(signed)
    signature.write_text("00")
    assert not promises.verified(notes, [key.public])
    signature.write_text(key.sign(signed).hex())  # signed for something else
    assert not promises.verified(notes, [key.public])


def test_a_wrong_word_is_refused() -> None:
    for words in ([], ["sing"], ["verify"], ["sign"]):
        with pytest.raises(InvalidInput, match="expected renew"):
            promises.main(words)
