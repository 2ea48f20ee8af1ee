"""Looks every locked version up in an advisory database, where one answers: `make audit-dependencies`.

What was looked up, when and where is kept in requirements/reviewed.toml (`RECORD=1`). pip-audit says "No known
vulnerabilities found" and ends with 0 even if no database knew a single package; here a version that was not looked up
is "not checked", and nothing is called clean while there is one.
"""

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from tools.supply_chain.locks import LOCKS, REQUIREMENTS, all_pins

REVIEWED = REQUIREMENTS / "reviewed.toml"
FOUND, UNCHECKED = 1, 3
"""Exit codes: something is known against a version; a version was not looked up."""
PATIENCE = 300
CLEAN, NOT_CHECKED = "nothing known", "not checked"
REACHED, NOWHERE = "the advisories that pip-audit reaches", "nothing: no advisory database answered for it"
HEAD = """\
# Every locked version: when it was looked up, where, and what came of it; `make audit-dependencies RECORD=1` writes it.
# A test fails if a locked version is missing. An advisory that does not concern Treetop can be ignored for a while:
# [[ignored]]
# id = "…"
# package = "…"
# reason = "…"
# expires = 2027-01-31
"""


@dataclass
class Findings:
    """What an advisory database said, by name==version."""

    clean: set[str] = field(default_factory=set)
    known: dict[str, list[str]] = field(default_factory=dict)
    """Ids of advisories."""
    unchecked: dict[str, str] = field(default_factory=dict)
    """Why not."""


def read_answer(text: str, pins: Iterable[str]) -> Findings:
    """Take pip-audit's JSON apart; a pin that it does not speak of was not looked up."""
    found = Findings()
    try:
        told = {_normal(each["name"]): each for each in json.loads(text)["dependencies"]}
    except (ValueError, KeyError, TypeError):
        told = {}
    for pin in sorted(pins):
        name, _, version = pin.partition("==")
        answer: Mapping[str, Any] = told.get(name, {})
        if answer.get("version") != version or "vulns" not in answer:
            found.unchecked[pin] = str(answer.get("skip_reason", "no answer"))
        elif answer["vulns"]:
            found.known[pin] = [str(each["id"]) for each in answer["vulns"]]
        else:
            found.clean.add(pin)
    return found


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def ask(auditor: Path, pins: set[str]) -> Findings:
    """Ask pip-audit about pins; a name that is locked twice, for different machines, is asked about twice."""
    whole, left = Findings(), sorted(pins)
    while left:
        once = {pin.partition("==")[0]: pin for pin in left}
        left = [pin for pin in left if pin not in once.values()]
        answer = read_answer(_answer(auditor, once.values()), once.values())
        whole.clean |= answer.clean
        whole.known |= answer.known
        whole.unchecked |= answer.unchecked
    return whole


def _answer(auditor: Path, pins: Iterable[str]) -> str:
    command = [str(auditor), "--no-deps", "--disable-pip", "--progress-spinner", "off", "--format", "json", "-r"]
    try:
        done = subprocess.run(  # noqa: S603  the auditor of our own environment
            [*command, "/dev/stdin"], input="\n".join(pins) + "\n", capture_output=True, text=True, timeout=PATIENCE,
            check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout


def ignored(record: Mapping[str, Any], today: date) -> tuple[set[str], list[str]]:
    """Return the ids that are ignored today, and what is wrong with the entries."""
    ids, problems = set[str](), []
    for entry in record.get("ignored", []):
        if set(entry) != {"id", "package", "reason", "expires"} or not str(entry["reason"]).strip():
            problems.append(f"expected id, package, reason and expires, found {', '.join(entry)}")
        elif entry["expires"] < today:
            problems.append(
                f"{entry['id']} ({entry['package']}) was ignored until {entry['expires']}: look at it again"
            )
        else:
            ids.add(str(entry["id"]))
    return ids, problems


def recorded(record: Mapping[str, Any]) -> set[str]:
    """Return the versions that some check of the record names."""
    return {pin for check in record.get("check", []) for pin in check["packages"]}


def record_of(found: Findings, day: date, kept: Mapping[str, Any]) -> str:
    """Return the text of the record."""
    results = {CLEAN: sorted(found.clean), NOT_CHECKED: sorted(found.unchecked)}
    results |= {f"known: {', '.join(ids)}": [pin] for pin, ids in sorted(found.known.items())}
    parts = [HEAD]
    for entry in kept.get("ignored", []):
        lines = [f"{key} = {entry[key] if key == 'expires' else json.dumps(entry[key])}" for key in entry]
        parts.append("\n".join(["[[ignored]]", *lines]) + "\n")
    for result, pins in results.items():
        if pins:
            names = "".join(f'  "{pin}",\n' for pin in pins)
            against = NOWHERE if result == NOT_CHECKED else REACHED
            parts.append(
                f"[[check]]\ndate = {day}\nagainst = {json.dumps(against)}\nresult = {json.dumps(result)}\n"
                f"packages = [\n{names}]\n"
            )
    return "\n".join(parts)


def main(auditor: Path, record: bool) -> int:
    """Look everything up, say what came of it, and keep it if asked to."""
    pins, today, kept = all_pins(), datetime.now(UTC).date(), tomllib.loads(REVIEWED.read_text("utf-8"))
    passed_over, problems = ignored(kept, today)
    found = ask(auditor, pins)
    known = {pin: sorted(set(ids) - passed_over) for pin, ids in found.known.items() if set(ids) - passed_over}
    for line in (*problems, *(f"{pin}: {', '.join(ids)}" for pin, ids in known.items())):
        print(line)
    print(f"{len(pins)} versions in {len(LOCKS)} locks: {len(found.clean)} with nothing known against them, "
          f"{len(found.known)} with advisories, {len(found.unchecked)} not checked")  # fmt: skip
    if found.unchecked:
        print(f"not checked, for instance {next(iter(found.unchecked))}: {next(iter(found.unchecked.values()))}")
    if record:
        REVIEWED.write_text(record_of(found, today, kept), "utf-8")
    return FOUND if known or problems else UNCHECKED if found.unchecked else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), "--record" in sys.argv[2:]))
