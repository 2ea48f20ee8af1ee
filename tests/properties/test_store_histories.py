"""Random histories of a store against a naive model: dictionaries that forget nothing (R4 and R5 at the store)."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from tests.support.databases import PLACES, Place, place_called
from tests.support.reports import TASK, body_of, report

from treetop.federation.service_ports import AdmittedReport, ClosedEnrolment
from treetop.federation.wire.uploads import ReportStatus
from treetop.trie.user_groups import Group, Role

GROUPS = (Group(1), Group(2), Group(2, Role.VALIDATE_FREQUENT))
SERIALS = st.integers(0, 12)
REPORTS = st.builds(report, SERIALS, st.sampled_from(GROUPS), st.integers(0, 1))


class Model:
    """What a store must know, in the plainest way."""

    def __init__(self) -> None:
        self.first: dict[int, AdmittedReport] = {}
        self.closed: dict[Group, int] = {}
        self.scrubbed: set[Group] = set()
        self.enrolled: set[int] = set()
        self.enrolment: ClosedEnrolment | None = None
        self.tickets = 0

    def submitted(self, found: AdmittedReport) -> ReportStatus:
        if found.serial in self.first and found.group in self.scrubbed:
            return ReportStatus.REPLAYED  # that the ticket was used is all that is left
        if found.serial in self.first:
            return ReportStatus.REPLAYED if self.first[found.serial] == found else ReportStatus.TICKET_SPENT
        if found.group in self.closed:
            return ReportStatus.LEVEL_CLOSED
        self.first[found.serial] = found
        return ReportStatus.ACCEPTED

    def of(self, group: Group) -> dict[int, bytes]:
        return {serial: kept.body for serial, kept in self.first.items() if kept.group == group}

    def enrols(self, serial: int) -> ReportStatus:
        if serial in self.enrolled:
            return ReportStatus.REPLAYED
        if self.enrolment:
            return ReportStatus.ENROLMENT_CLOSED
        self.enrolled.add(serial)
        return ReportStatus.ACCEPTED


class StoreHistory(RuleBasedStateMachine):
    """Submissions, repetitions, changed repetitions, closings, scrubbings and restarts in any order."""

    new_place: ClassVar[Callable[[Path], Place]]

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.place = type(self).new_place(Path(self.folder.name))
        self.place.store.add_task(TASK, b"the task")
        self.model = Model()

    @rule(call=st.lists(REPORTS, max_size=12))
    def submit(self, call: list[AdmittedReport]) -> None:
        assert self.place.store.submit(call) == [self.model.submitted(found) for found in call]

    @precondition(lambda self: self.model.first)
    @rule(data=st.data(), times=st.integers(1, 5))
    def repeat(self, data: st.DataObject, times: int) -> None:
        known = data.draw(st.sampled_from(list(self.model.first.values())))
        assert self.place.store.submit([known] * times) == [ReportStatus.REPLAYED] * times

    @precondition(lambda self: self.model.first)
    @rule(data=st.data(), group=st.sampled_from(GROUPS))
    def change(self, data: st.DataObject, group: Group) -> None:
        serial = data.draw(st.sampled_from(list(self.model.first)))
        changed = AdmittedReport(TASK, serial, group, body_of(serial, 7))
        assert self.place.store.submit([changed]) == [self.model.submitted(changed)]
        assert self.model.first[serial] != changed

    @rule(group=st.sampled_from(GROUPS))
    def close_group(self, group: Group) -> None:
        reports = self.model.closed.setdefault(group, len(self.model.of(group)))
        assert self.place.store.close_group(TASK, group) == reports

    @precondition(lambda self: self.model.closed)
    @rule(data=st.data())
    def scrub(self, data: st.DataObject) -> None:
        group = data.draw(st.sampled_from(list(self.model.closed)))
        self.place.store.scrub(TASK, group)
        self.model.scrubbed.add(group)

    @rule(serials=st.lists(SERIALS, max_size=6))
    def enrol(self, serials: list[int]) -> None:
        assert self.place.store.enrol(TASK, serials) == [self.model.enrols(serial) for serial in serials]

    @rule()
    def close_enrolment(self) -> None:
        self.model.enrolment = self.model.enrolment or ClosedEnrolment.of(sorted(self.model.enrolled))
        assert self.place.store.close_enrolment(TASK) == self.model.enrolment

    @rule(count=st.integers(1, 9))
    def issue(self, count: int) -> None:
        assert self.place.store.issue_tickets(TASK, count) == range(self.model.tickets, self.model.tickets + count)
        self.model.tickets += count

    @rule()
    def reopen(self) -> None:
        self.place.reopen()

    @invariant()
    def counts_are_distinct_tickets(self) -> None:
        expected = {group: len(self.model.of(group)) for group in GROUPS}
        assert self.place.store.counts(TASK) == {group: reports for group, reports in expected.items() if reports}

    @invariant()
    def closed_groups_never_change(self) -> None:
        for group, reports in self.model.closed.items():
            assert len(self.model.of(group)) == reports
            if group not in self.model.scrubbed:
                found = [body for stretch in self.place.store.bodies(TASK, group) for body in stretch]
                assert found == sorted(self.model.of(group).values())

    @invariant()
    def enrolments_stay(self) -> None:
        assert list(self.place.store.enrolled(TASK)) == sorted(self.model.enrolled)

    def teardown(self) -> None:
        self.place.close()
        self.folder.cleanup()


def run(name: str, request: pytest.FixtureRequest, examples: int, steps: int) -> None:
    machine: Any = type("History", (StoreHistory,), {})
    machine.new_place = staticmethod(lambda folder: place_called(name, folder, request))
    chosen = settings(
        max_examples=examples, stateful_step_count=steps, deadline=None, derandomize=True, database=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    run_state_machine_as_test(machine, settings=chosen)


@pytest.mark.parametrize("name", PLACES)
def test_random_histories(name: str, request: pytest.FixtureRequest) -> None:
    run(name, request, examples=10 if name == "postgres" else 40, steps=20)


@pytest.mark.slow
@pytest.mark.parametrize("name", PLACES)
def test_hundreds_of_long_histories(name: str, request: pytest.FixtureRequest) -> None:
    run(name, request, examples=100 if name == "postgres" else 500, steps=50)
