"""The audit of the shipped device and fleet has teeth: each mutant fails the check that is meant for it."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from tests.unit.adapters.system import test_durable_file
from tests.unit.audit.shipped_mutants import (
    MORE_SHIPPED_MUTANTS,
    SHIPPED_MUTANTS,
    LooseAboveEight,
    SharedWordsAboveEight,
    ShippedMutant,
)
from tests.unit.federation.device import test_order
from tests.unit.services.device import test_failed_deliveries

from treetop.audit.checks import NOT_SEEN, Check
from treetop.audit.oracle_laws import long_list_checks
from treetop.audit.shipped import device_checks, fleet_checks
from treetop.audit.shipped.campaign_checks import campaign_device_checks
from treetop.audit.shipped.device_checks import DeviceRuns
from treetop.audit.shipped.fleet_checks import FleetRuns
from treetop.audit.shipped.recording_party import loopback
from treetop.errors import TreetopError
from treetop.oracles.oue import OptimizedUnaryEncoding
from treetop.oracles.registry import SET_FORMS

ALL = {**SHIPPED_MUTANTS, **MORE_SHIPPED_MUTANTS}
RULES = ("krr", "oue", "olh", "listed")
SIZES = (5, 9, 10, 33, 321)
GUARANTEE = (Path(__file__).parents[3] / "docs" / "explanation" / "privacy_guarantee.md").read_text()


@pytest.fixture
def runs(tmp_path: Path) -> Iterator[tuple[DeviceRuns, FleetRuns]]:
    with loopback() as server:
        yield DeviceRuns(server, tmp_path), FleetRuns(server, tmp_path)


def checks(runs: tuple[DeviceRuns, FleetRuns], rules: tuple[str, ...], name: str | None = None) -> dict[str, Check]:
    """Return the checks by name: all of them, or those that run together with one."""
    devices, fleets = runs
    parts: dict[str, Callable[[], Check | list[Check]]] = {
        "device_one_report": partial(device_checks.one_report_check, devices, rules),
        "device_durable_first": partial(device_checks.durable_check, devices, rules),
        "device_lists": partial(device_checks.list_check, devices, [rule for rule in rules if rule != "olh"], SIZES),
        "device_sets_": partial(device_checks.set_checks, devices, [rule for rule in rules if rule in SET_FORMS], 1),
        "device_": partial(device_checks.alike_checks, devices, rules, 1),
        "fleet_one_report": partial(fleet_checks.one_report_check, fleets, rules),
        "fleet_durable_first": partial(fleet_checks.durable_check, fleets, rules),
        "fleet_sets": partial(fleet_checks.set_check, fleets, [rule for rule in rules if rule in SET_FORMS]),
        "fleet_": partial(fleet_checks.alike_checks, fleets, rules, ("ids",)),
    }
    wanted = parts if name is None else [next(part for part in parts if name.startswith(part))]
    found = [parts[part]() for part in wanted]
    return {check.name: check for each in found for check in (each if isinstance(each, list) else [each])}


def test_the_shipped_device_and_fleet_pass(runs: tuple[DeviceRuns, FleetRuns]) -> None:
    found = checks(runs, RULES)
    assert [name for name, check in found.items() if not check.passed] == []
    assert {mutant.caught_by for mutant in ALL.values()} <= set(found)
    through_weeks = {check.name for check in campaign_device_checks(["olh"], 1)}
    assert set(re.findall(r"`((?:device|fleet)_[a-z_]+)`", GUARANTEE)) == set(found) | through_weeks


def test_there_is_a_mutant_for_each_that_was_missed() -> None:
    assert len(SHIPPED_MUTANTS) == 9 + 1  # the counter rises too late in two ways


@pytest.mark.parametrize("name", ALL)
def test_a_shipped_mutant_is_caught_by_its_check(name: str, runs: tuple[DeviceRuns, FleetRuns]) -> None:
    mutant: ShippedMutant = ALL[name]
    with mutant.applied():
        check = checks(runs, (mutant.rule,), mutant.caught_by)[mutant.caught_by]
    assert not check.passed
    assert check.measured > check.limit


@pytest.mark.parametrize(("name", "fails"), [
    ("fresh report after a failed delivery", lambda folder: test_failed_deliveries
        .test_a_failed_delivery_is_followed_by_the_same_bytes(folder, "olh")),
    ("ledger file without fsync", lambda folder: test_durable_file
        .test_a_file_is_flushed_before_it_is_renamed_and_its_folder_afterwards(
            folder, test_durable_file.write_ledger, test_durable_file.replacing("ledger", 7))),
    ("counter after the report was made", lambda _: test_order
        .test_the_counter_rises_before_the_value_is_read_and_again_before_the_report_is_sent(True)),
    ("counter after the report was sent", lambda _: test_order
        .test_the_counter_rises_before_the_value_is_read_and_again_before_the_report_is_sent(False)),
])  # fmt: skip
def test_what_survived_everything_fails_a_test_of_its_own_now(
    name: str, fails: Callable[[Path], None], tmp_path: Path
) -> None:
    with SHIPPED_MUTANTS[name].applied(), pytest.raises((AssertionError, TreetopError)):
        fails(tmp_path)


@pytest.mark.parametrize("face", [SharedWordsAboveEight, LooseAboveEight])
def test_a_face_that_is_wrong_above_eight_slots_is_caught(face: type[SharedWordsAboveEight]) -> None:
    exact, _ = long_list_checks(OptimizedUnaryEncoding(), True, face)
    assert exact.name == "exact_long_oue"
    assert not exact.passed


def test_the_page_says_what_the_audit_does_not_see() -> None:
    text = " ".join(GUARANTEE.split())
    for limit in NOT_SEEN:
        assert limit in text
