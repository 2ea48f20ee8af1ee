"""Which checks an audit runs: those of every registered mechanism and oracle, or of the ones that were named."""

import pytest
from tests.support.added_mechanism import Halves
from tests.support.refusals import refused

from treetop.audit import run
from treetop.audit.checks import Check
from treetop.audit.run import Part, audited_mechanisms, parts, run_audit
from treetop.errors import UnknownName
from treetop.mechanisms.registry import FOR_A_QUERY, MECHANISMS
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.registry import ORACLES


class Unregistered(KRandomizedResponse):
    name = "unregistered"


def titles(found: list[Part]) -> list[str]:
    return [part.title for part in found]


def test_an_audit_runs_all_its_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    good = Check("a", True, "b", 0, 0)
    monkeypatch.setattr(run, "parts", lambda *_: [Part("one", 2, lambda: [good]), Part("two", 3, lambda: [good])])
    heard: list[tuple[str, float]] = []
    report = run_audit(True, lambda title, done: heard.append((title, done)))
    assert report.checks == [good, good]
    assert heard == [("one", 0), ("two", 2), ("done", 5)]


@pytest.mark.parametrize("quick", [False, True])
def test_every_mechanism_and_every_oracle_is_audited(quick: bool) -> None:
    found = titles(parts(quick))
    assert len(set(found)) == len(found)
    assert {f"end to end {name}" for name in MECHANISMS} <= set(found)
    assert {f"end to end {name}" for name in FOR_A_QUERY} <= set(found)
    assert {f"{kind} {name}" for kind in ("exact", "empirical") for name in ORACLES} <= set(found)
    assert {"exact device", "conduct", "conduct by oracle", "longitudinal, 10 tasks"} <= set(found)
    assert {"shipped device", "shipped fleet"} <= set(found)


def test_the_example_of_a_mechanism_has_the_name_of_what_find_makes() -> None:
    assert set(audited_mechanisms()) == {*MECHANISMS, "catalogue"}


@pytest.mark.parametrize("mechanism", ["canopy", MECHANISMS["canopy"]])
def test_one_mechanism(mechanism: object) -> None:
    assert titles(parts(True, mechanism)) == ["end to end canopy"]  # type: ignore[arg-type]


def test_a_mechanism_of_ones_own() -> None:
    report = run_audit(quick=True, mechanism=Halves())
    assert [check.name for check in report.checks] == [
        "end_to_end_halves",
        "tight_halves",
        "end_to_end_halves_malicious",
    ]
    assert report.passed


@pytest.mark.parametrize("oracle", ["olh", ORACLES["olh"]])
def test_one_oracle(oracle: object) -> None:
    found = titles(parts(True, oracle=oracle))  # type: ignore[arg-type]
    assert found == [
        "exact olh",
        "conduct by oracle",
        "shipped device",
        "campaigns of a device",
        "shipped fleet",
        "empirical olh",
    ]


def test_an_oracle_of_ones_own_is_audited_as_far_as_no_task_must_name_it() -> None:
    assert titles(parts(True, oracle=Unregistered())) == ["exact unregistered"]


def test_one_of_each() -> None:
    found = titles(parts(True, "catalogue", "krr"))
    assert found[:3] == ["exact krr", "end to end catalogue", "conduct by oracle"]
    assert found[3:] == ["shipped device", "campaigns of a device", "shipped fleet", "empirical krr"]


def test_conduct_is_checked_for_the_oracle_that_was_named() -> None:
    (part,) = (part for part in parts(True, oracle="oue") if part.title == "conduct by oracle")
    assert [check.name for check in part.run()] == ["same_bytes_on_retry", "constant_footprint"]


def test_unknown_names_are_refused() -> None:
    with refused("unknown_name", UnknownName, kind="mechanism", found="canpy", nearest="canopy"):
        parts(True, "canpy")
    with refused("unknown_name", UnknownName, kind="oracle", found="ohl", nearest="olh"):
        parts(True, oracle="ohl")
