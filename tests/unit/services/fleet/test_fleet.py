"""A fleet: every device answers once with the real device code, whatever happens on the way."""

import sqlite3
import time
from collections import Counter
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import chisquare
from tests.support.fake_party import PINNED, FakeParty, serving
from tests.support.fleets import PATIENCE, fleet_of, fleet_task, publish_level
from tests.support.tasks import GROUPS

from treetop.datasets.party_split import HeldItems, HeldSets
from treetop.datasets.user_sets import UserSets
from treetop.errors import (
    BudgetExceeded,
    InvalidInput,
    LedgerRefused,
    PeerViolation,
    QuestionRefused,
    TreetopError,
)
from treetop.federation.campaign import Campaign, template_of
from treetop.federation.device import trusted_task
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Caps
from treetop.federation.task import Deadlines, Encoding
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.report_batches import decoded_batch
from treetop.federation.wire.uploads import ReportStatus, decoded_refusals
from treetop.oracles.set_reports import SetQuestion
from treetop.privacy.budget import Budget
from treetop.services.fleet import runs
from treetop.services.fleet.fleet import Fleet, FleetPlan
from treetop.services.fleet.runs import FleetProgress
from treetop.trie.user_groups import Group


def run(
    party: FakeParty, url: str, state: Path, devices: int, seen: list[FleetProgress] | None = None, **plan: Any
) -> Any:
    fleet = fleet_of(party, url, state, devices, **plan)
    try:
        return fleet.run((seen if seen is not None else []).append)
    finally:
        fleet.close()


def test_every_device_answers_once(tmp_path: Path) -> None:
    party, seen = FakeParty(fleet_task()), list[FleetProgress]()
    with serving(party) as url:
        totals = run(party, url, tmp_path, 2_345, seen)
    assert (totals.devices, totals.verdicts, totals.unanswered) == (2_345, {"accepted": 2_345}, 0)
    assert sorted(serial for serial, _ in party.received) == list(range(2_345))
    assert (seen[-1].phase, seen[-1].sent, seen[-1].of) == ("done", 2_345, 2_345)
    assert all(one.sent <= two.sent for one, two in pairwise(seen))
    groups = Counter(decoded_batch(batch).envelope.group for _, batch in party.received)
    weights = [entry.weight for entry in GROUPS[:3]]
    expected = [2_345 * weight / sum(weights) for weight in weights]
    assert chisquare([groups[Group(level)] for level in (1, 2, 3)], expected).pvalue > 1e-9


def test_a_fleet_over_a_catalogue_waits_for_its_list_and_does_not_answer_without_it(tmp_path: Path) -> None:
    listed = ItemList(tuple(str(item) for item in range(0, 300, 14)))
    catalogue = replace(
        fleet_task("walsh", "4"), lengths=(0, 8), groups=GROUPS[:1], encoding=Encoding("catalogue"), reports="names",
        item_list=listed.digest,
    )  # fmt: skip
    party = FakeParty(catalogue, closed=True)
    with serving(party) as url:
        with pytest.raises(QuestionRefused, match="list of the task"):
            run(party, url, tmp_path, 400)
        party.closed, waited = False, []

        def fault(path: str, _: bytes) -> None:
            if path.endswith("items"):
                waited.append(path)
                party.items = listed.document if len(waited) > 1 else None

        party.fault = fault
        assert run(party, url, tmp_path, 400).verdicts == {"accepted": 400}
    assert len(waited) == 2
    assert {decoded_batch(batch).envelope.group for _, batch in party.received} == {Group(1)}


def test_a_second_run_sends_nothing_new(tmp_path: Path) -> None:
    party = FakeParty(fleet_task())
    with serving(party) as url:
        first = run(party, url, tmp_path, 300)
        second = run(party, url, tmp_path, 300)
    assert len(party.received) == 300
    assert first.verdicts == second.verdicts == {"accepted": 300}


@pytest.mark.parametrize("fault", ["drop", "lose", (503, b"", {}), (429, b"", {"Retry-After": "0"})])
def test_faults_on_the_way_change_nothing(tmp_path: Path, fault: Any) -> None:
    party, count = FakeParty(fleet_task()), Counter[str]()

    def every_third(path: str, body: bytes) -> Any:
        count[path] += 1
        return fault if count[path] % 3 == 1 else None

    party.fault = every_third
    with serving(party) as url:
        totals = run(party, url, tmp_path, 500)
    assert sum(totals.verdicts.values()) == 500
    assert set(totals.verdicts) <= {"accepted", "replayed"}
    assert set(party.distinct) == set(range(500))
    assert all(len(reports) == 1 for reports in party.distinct.values())


def test_what_is_too_early_is_sent_again_and_what_is_refused_is_not(tmp_path: Path) -> None:
    party, asked = FakeParty(fleet_task()), Counter[Group]()

    def said(group: Group) -> ReportStatus | None:
        asked[group] += 1
        if group == Group(1):
            return ReportStatus.LEVEL_CLOSED
        return ReportStatus.TOO_EARLY if asked[group] < 100 else None

    party.verdict = said
    with serving(party) as url:
        totals = run(party, url, tmp_path, 400)
    refused = totals.verdicts["level_closed"]
    assert asked[Group(1)] == refused > 20
    assert totals.verdicts["accepted"] == 400 - refused == len(party.distinct)
    assert totals.unanswered == 0


def test_reports_that_never_get_a_verdict_wait_for_the_next_run(tmp_path: Path) -> None:
    party = FakeParty(fleet_task(), closed=True)
    party.verdict = lambda group: ReportStatus.TOO_EARLY
    with serving(party) as url:
        totals = run(party, url, tmp_path, 60)
        assert (totals.verdicts, totals.unanswered) == ({}, 60)
        sent = {body for path, body in party.requests if path.endswith("reports")}
        party.verdict = lambda group: None
        assert run(party, url, tmp_path, 60).verdicts == {"accepted": 60}
    assert {body for path, body in party.requests if path.endswith("reports")} == sent


@pytest.mark.parametrize("oracle", ["krr", "oue"])
def test_rounds_from_enrolment_to_the_last_list(tmp_path: Path, oracle: Any) -> None:
    party, seen = FakeParty(fleet_task(oracle), name="north", enrol_until=400), list[FleetProgress]()

    def next_level(path: str, body: bytes) -> None:
        """Publish a level when everybody of the one before has answered and the fleet wonders whether that was all."""
        if not path.endswith("/tasks"):
            return
        answered = Counter(decoded_batch(batch).envelope.group.level for _, batch in party.received)
        for level in (1, 2, 3):
            if level == 1 or answered[level - 1] == assigned[level - 1]:
                publish_level(party, level)

    assigned = Counter(party.group_of(serial).level for serial in range(400))
    party.fault = next_level
    with serving(party) as url:
        totals = run(party, url, tmp_path, 400, seen)
    assert (totals.enrolled, totals.verdicts, totals.unanswered) == (400, {"accepted": 400}, 0)
    assert set(party.distinct) == set(range(400))
    assert {each.phase for each in seen} == {"enrolling", "waiting", "answering", "done"}
    assert {each.level for each in seen if each.phase == "answering"} >= {1, 2, 3}
    for serial, batch in party.received:
        envelope = decoded_batch(batch).envelope
        assert envelope.group == party.group_of(serial)
        assert envelope.domain == party.lists[envelope.group].question.digest


def test_rounds_end_when_the_task_is_closed(tmp_path: Path) -> None:
    party = FakeParty(fleet_task("krr"), enrol_until=100)
    publish_level(party, 2)
    party.closed = True
    with serving(party) as url:
        totals = run(party, url, tmp_path, 100)
    second = sum(party.group_of(serial) == Group(2) for serial in range(100))
    assert totals.verdicts == {"accepted": second}
    assert totals.unanswered == 100 - second


def test_rounds_end_without_a_beacon_when_the_task_is_closed(tmp_path: Path) -> None:
    party = FakeParty(fleet_task("krr"), closed=True)
    with serving(party) as url:
        totals = run(party, url, tmp_path, 50)
    assert (totals.enrolled, totals.verdicts) == (50, {})


def test_a_crafted_list_gets_no_answer_and_is_named(tmp_path: Path) -> None:
    party = FakeParty(fleet_task("krr"), enrol_until=100)
    publish_level(party, 1)
    honest = party.lists[Group(1)]
    party.publish(Group(1), honest.published, (0, 1))
    party.closed = True
    with serving(party) as url:
        totals = run(party, url, tmp_path, 100)
    assert party.received == []
    assert len(totals.refused_lists) == 1
    assert "number of candidates" in totals.refused_lists[0]


def test_forged_tickets_do_not_enrol(tmp_path: Path) -> None:
    party = FakeParty(fleet_task("krr"), closed=True)
    party.__class__ = type("Forger", (FakeParty,), {"write_tickets": lambda self, count: [bytes(24)] * count})
    with serving(party) as url:
        assert run(party, url, tmp_path, 20).enrolled == 0


def test_nothing_is_spent_on_forged_tickets(tmp_path: Path) -> None:
    party = FakeParty(fleet_task())
    good, held = party.write_tickets(20), HeldItems(["1"], np.zeros(20, dtype=np.int64))
    with serving(party) as url:
        plan = FleetPlan(
            url, party.task.digest, "north", [bytes(24)] * 10 + good[10:], tmp_path, PINNED, retry=PATIENCE
        )
        with closing(Fleet(plan, held, "twenty")) as player:
            totals = player.run()
        assert (totals.verdicts, totals.refused) == ({"accepted": 10}, {"ticket_forged": 10})
        assert set(party.distinct) == set(range(10, 20))
        with closing(Fleet(replace(plan, tickets=good), held, "twenty")) as player:  # whose budget is whole
            assert player.run().verdicts == {"accepted": 20}


def test_a_state_is_of_one_population_and_one_process(tmp_path: Path) -> None:
    party = FakeParty(fleet_task())
    with serving(party) as url:
        fleet = fleet_of(party, url, tmp_path, 20)
        with pytest.raises(LedgerRefused, match="another one"):
            fleet_of(party, url, tmp_path, 20)
        fleet.close()
        with pytest.raises(InvalidInput, match="20 devices, found 30 devices"):
            fleet_of(party, url, tmp_path, 30)


def test_caps_and_deadlines_are_the_devices_own(tmp_path: Path) -> None:
    from dataclasses import replace

    dear = FakeParty(replace(fleet_task(), budget=Budget("5")))
    late = FakeParty(replace(fleet_task(), deadlines=Deadlines(0, 1, 2)))
    for party, error in ((dear, BudgetExceeded), (late, PeerViolation)):
        with serving(party) as url, pytest.raises(error):
            run(party, url, tmp_path / error.__name__, 20)
        assert party.received == []


def test_a_device_is_asked_through_the_real_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a copy of it: what the fleet sends is what `Device.answer_once` returned."""
    party, returned = FakeParty(fleet_task()), list[bytes]()
    honest = Device.answer_once

    def watched(self: Device, task: Any, campaign: Any) -> bytes:
        returned.append(honest(self, task, campaign))
        return returned[-1]

    monkeypatch.setattr(Device, "answer_once", watched)
    with serving(party) as url:
        run(party, url, tmp_path, 150)
    assert sorted(returned) == sorted(batch for _, batch in party.received)


def test_a_second_task_is_charged_to_the_same_ledgers(tmp_path: Path) -> None:
    caps = Caps(window=Fraction(8))
    for number in range(9):
        party = FakeParty(replace(fleet_task(), name=f"task {number}"))
        with serving(party) as url:
            if number < 8:
                assert run(party, url, tmp_path, 20, caps=caps).verdicts == {"accepted": 20}
            else:
                with pytest.raises(BudgetExceeded, match="lifetime cap is epsilon 8"):
                    run(party, url, tmp_path, 20, caps=caps)


def test_a_device_whose_budget_is_spent_tells_its_party_and_the_others_answer(tmp_path: Path) -> None:
    first, second = FakeParty(fleet_task(epsilon="4")), FakeParty(replace(fleet_task(epsilon="4"), name="second"))
    with serving(first) as url:
        run(first, url, tmp_path, 60)
    database = sqlite3.connect(tmp_path / "fleet.sqlite")
    database.execute("DELETE FROM devices WHERE place >= 20")
    database.commit()
    database.close()
    with serving(second) as url:
        for _ in range(2):
            totals = run(second, url, tmp_path, 60)
            assert (totals.verdicts, totals.refused) == ({"accepted": 40}, {"budget_window": 20})
    (told,) = [body for path, body in second.requests if path.endswith("refusals")]
    assert [(ticket, code.value) for ticket, code in decoded_refusals(told)] == [
        (ticket, "budget_window") for ticket in second.write_tickets(20)
    ]


def test_a_campaign_is_answered_by_each_device_in_its_own_week(tmp_path: Path) -> None:
    """Two weeks in two runs of the fleet over the same ledgers: every device answers in one of them."""
    now = int(time.time())
    opened = Campaign(template_of(replace(fleet_task(), name="weekly")), now - 100, every=1_000, weeks=2)
    answered: list[set[int]] = []
    for week in range(2):
        ends = opened.ends(0, week)
        week_task = replace(
            fleet_task(), name=opened.task_name(0, week), campaign=opened.week(0, week),
            deadlines=Deadlines(opened.opens(0, week), ends, ends),
        )  # fmt: skip
        party = FakeParty(week_task, campaign=opened)
        with serving(party) as url, patch.object(runs, "LEEWAY", 10_000), patch.object(trusted_task, "LEEWAY", 10_000):
            totals = run(party, url, tmp_path, 300)
            again = run(party, url, tmp_path, 300)
        answered.append({serial for serial, _ in party.received})
        assert totals.refused == {"not_my_week": 300 - len(answered[-1])} == again.refused
        assert totals.verdicts == {"accepted": len(answered[-1])}
    assert answered[0] | answered[1] == set(range(300))
    assert not answered[0] & answered[1]
    assert 100 < len(answered[0]) < 200


@pytest.mark.parametrize("oracle", ["olh", "krr"])
def test_a_hostile_task_gets_nothing_of_any_device(tmp_path: Path, oracle: str) -> None:
    """Refused before the first enrolment or report, though only the last device has a pin."""
    first = FakeParty(fleet_task(epsilon="4"))
    with serving(first) as url:
        run(first, url, tmp_path, 1_100)
    database = sqlite3.connect(tmp_path / "fleet.sqlite")
    database.execute("DELETE FROM devices WHERE place < 1099")
    database.commit()
    database.close()
    hostile = [
        (replace(fleet_task(oracle), attribute="favour\u0456te"), Caps(), "attribute of the task"),
        (replace(fleet_task(oracle, "4.5"), attribute="Favourite "), Caps(), "task cap"),
    ]
    if oracle == "krr":
        hostile.append((replace(fleet_task(oracle), lengths=(0, 1, 4, 8)), Caps(), "slots at level 1"))
    for task, caps, why in hostile:
        party = FakeParty(task)
        with serving(party) as url, pytest.raises(TreetopError, match=why):
            run(party, url, tmp_path, 1_100, caps=caps)
        assert not [path for path, _ in party.requests if path.endswith(("reports", "enrolments"))]


def test_devices_without_tickets_are_refused(tmp_path: Path) -> None:
    plan = FleetPlan("http://localhost:1", bytes(32), "north", [bytes(24)], tmp_path, PINNED)
    with pytest.raises(InvalidInput, match="2 devices need a ticket each, found 1"):
        Fleet(plan, HeldItems(["1"], np.zeros(2, dtype=np.int64)), "two")


SETS = UserSets(np.array([0, 2, 2, 3]), np.array([0, 1, 2], dtype=np.int32)).of_users(np.arange(120) % 3)


def test_a_fleet_holds_sets_and_each_device_sends_one_report_of_all_of_hers(tmp_path: Path) -> None:
    party = FakeParty(replace(fleet_task(), sets=SetQuestion(3, "holders")))
    with serving(party) as url:
        plan = FleetPlan(
            url, party.task.digest, "north", party.write_tickets(120), tmp_path, PINNED, batch=50, retry=PATIENCE
        )
        for _ in range(2):  # the second run sends nothing new
            with closing(Fleet(plan, HeldSets(["7", "9", "x"], SETS), "sets")) as player:
                assert player.run().verdicts == {"accepted": 120}
    assert len(party.distinct) == 120
    assert all(len(batches) == 1 for batches in party.distinct.values())


def test_a_fleet_with_sets_does_not_answer_a_task_about_one_item(tmp_path: Path) -> None:
    party = FakeParty(fleet_task())
    with serving(party) as url:
        plan = FleetPlan(url, party.task.digest, "north", party.write_tickets(120), tmp_path, PINNED, retry=PATIENCE)
        with (
            closing(Fleet(plan, HeldSets(["7", "9", "x"], SETS), "sets")) as player,
            pytest.raises(InvalidInput, match="expected a task about sets, found one about single items"),
        ):
            player.run()
    assert not party.received
