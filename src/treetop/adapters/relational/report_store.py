"""The store of a party's reports in tables, whichever database holds them.

Several processes may write at once where the database lets them. A ticket is used once because its slot is a primary
key. Rows are locked in one order: tasks by number, then the store's; or the store's, then a book's.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from secrets import token_bytes
from typing import Any, cast

from treetop.adapters.relational.tables import (
    CLOSED,
    LAST_SERIAL,
    NO_SUM,
    OPEN,
    ROLES,
    SCRUBBED,
    SERIAL_BITS,
    Database,
    GroupState,
    Overtaken,
    RowDamaged,
    Rows,
    StoreState,
    TaskState,
    expected,
    naming,
    seal_of,
    slots_of,
    sum_with,
)
from treetop.errors import InvalidInput, StoreUnavailable, UnknownName
from treetop.federation.service_ports import SECRET_BYTES, AdmittedReport, ClosedEnrolment
from treetop.federation.wire.uploads import ReportStatus
from treetop.trie.user_groups import Group

MAX_GROUPS = 1 << 23
"""A group's number and a serial number make one 63-bit key."""
ATTEMPTS = 20
"""How often reports are tried anew when another process was faster; each time at least one of its commits is new."""
Kept = tuple[int, bytes, bytes]
"""Serial number, check and body of a new report."""


class RelationalReportStore:
    """Run by the party: the `ReportStore` port."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._numbers: dict[bytes, int] = {}
        """The row of each task, which never changes."""
        self._begun: set[tuple[bytes, Group]] = set()
        """Groups known to have a row."""

    def add_task(self, task: bytes, document: bytes) -> None:
        """Keep a signed task under its digest; again, the same document, does nothing."""
        with self._rows(task) as rows:
            store = rows.state(StoreState, 1)
            known = {state.digest: state for state in _all_tasks(rows)}.get(task)
            if known is None:
                rows.save(TaskState(store.tasks + 1, task, seal_of(document)))
                rows.add_document(store.tasks + 1, document)
                rows.save(store._replace(tasks=store.tasks + 1))
            elif not known.forgotten and known.document != seal_of(document):
                raise InvalidInput("task_differs", task=task.hex())

    def tasks(self) -> Mapping[bytes, bytes]:
        """Return every task's document by digest, in the order they were added, less those forgotten."""
        found: dict[bytes, bytes] = {}
        with self._rows() as rows:
            for state in (state for state in _all_tasks(rows) if not state.forgotten):
                document = rows.document(state.number)
                if document is None or seal_of(document) != state.document:
                    raise RowDamaged(f"the document of task {state.digest.hex()} was changed")
                found[state.digest] = document
        return found

    def issue_tickets(self, task: bytes, count: int) -> range:
        """Return serial numbers that were never returned before."""
        with self._task(task) as (rows, state):
            if state.forgotten:
                raise InvalidInput("task_forgotten", task=task.hex())
            if count < 1 or state.tickets + count > LAST_SERIAL:
                raise InvalidInput("tickets_exhausted", last_serial=LAST_SERIAL, count=count)
            rows.save(state._replace(tickets=state.tickets + count))
            return range(state.tickets, state.tickets + count)

    def tickets_issued(self, task: bytes) -> int:
        """Return how many serial numbers were issued."""
        with self._task(task) as (_, state):
            return state.tickets

    def enrol(self, task: bytes, serials: Sequence[int]) -> list[ReportStatus]:
        """Enrol devices (rounds): accepted, replayed, or enrolment_closed; who is in stays `replayed`."""
        _refuse_large(serials)
        with self._task(task) as (rows, state):
            base = state.number << SERIAL_BITS
            known = rows.enrolled([base | serial for serial in serials])
            new = dict.fromkeys(serial for serial in serials if base | serial not in known)
            if state.enrolment:
                return [ReportStatus.ENROLMENT_CLOSED if serial in new else ReportStatus.REPLAYED for serial in serials]
            if new:
                rows.add_enrolled([base | serial for serial in new])
                rows.save(state._replace(enrolled=state.enrolled + len(new), serials=sum_with(state.serials, new)))
        statuses = []
        for serial in serials:
            statuses.append(ReportStatus.ACCEPTED if serial in new else ReportStatus.REPLAYED)
            new.pop(serial, None)  # the same one again is a repetition
        return statuses

    def close_enrolment(self, task: bytes) -> ClosedEnrolment:
        """Enrol nobody from here on; again, the same answer."""
        with self._task(task) as (rows, state):
            if state.enrolment:
                return ClosedEnrolment(state.enrolled, state.enrolment)
            answer = ClosedEnrolment.of(self._checked_serials(state))
            rows.save(state._replace(enrolment=answer.digest))
            return answer

    def enrolled(self, task: bytes) -> Iterator[int]:
        """Yield the serial numbers enrolled, ascending; damage raises `StoreDamaged` at the end."""
        with self._task(task) as (_, state):
            pass
        return iter(()) if state.forgotten else self._checked_serials(state)

    def submit(self, reports: Sequence[AdmittedReport]) -> list[ReportStatus]:
        """Keep reports, all in one commit: accepted, replayed (same check), ticket_spent (another), level_closed."""
        _refuse_large([report.serial for report in reports])
        indices: dict[bytes, list[int]] = defaultdict(list)
        for index, report in enumerate(reports):
            indices[report.task].append(index)
        numbers = sorted((self._number(task), task) for task in indices)
        for _ in range(ATTEMPTS):
            groups = {task: [reports[index].group for index in indices[task]] for task in indices}
            forgotten = {task for task in indices if self._begin(task, groups[task])}
            statuses: dict[int, ReportStatus] = {}
            with suppress(Overtaken):
                with self._rows(*indices) as rows:
                    for number, task in numbers:
                        if task in forgotten:
                            found = [ReportStatus.TICKET_SPENT] * len(indices[task])
                        else:
                            found = _take_reports(rows, number, task, [reports[index] for index in indices[task]])
                        statuses.update(zip(indices[task], found, strict=True))
                return [statuses[index] for index in range(len(reports))]
            self._begun.clear()
        raise StoreUnavailable("tickets_contended")

    def _begin(self, task: bytes, groups: Iterable[Group]) -> bool:
        """See to it that groups have rows, and return whether the task was forgotten."""
        missing = [group for group in dict.fromkeys(groups) if (task, group) not in self._begun]
        if not missing:
            return False
        with self._task(task) as (rows, state):
            if state.forgotten:
                return True
            known = _groups_of(rows, state)
            for index, group in enumerate(group for group in missing if group not in known):
                grown = state._replace(groups=state.groups + index)
                rows.save(_new_group(rows, grown, group)._replace(secret=token_bytes(SECRET_BYTES)))
        self._begun.update((task, group) for group in missing)
        return False

    def digests(self) -> list[bytes]:
        """Return the digests of all tasks but those forgotten, without waiting for anybody."""
        with self._rows() as rows:
            return [state.digest for state in rows.states(TaskState) if not state.forgotten]

    def close_group(self, task: bytes, group: Group) -> int:
        """Accept nothing for a group from here on; return its reports; again, the same answer."""
        with self._task(task) as (rows, state):
            if state.forgotten:
                return 0
            found = _groups_of(rows, state).get(group) or _new_group(rows, state, group)
            if found.state == OPEN:
                rows.save(found._replace(state=CLOSED))
            return found.reports

    def counts(self, task: bytes) -> Mapping[Group, int]:
        """Return the reports of every group that has any."""
        with self._task(task) as (rows, state):
            return {group: found.reports for group, found in _groups_of(rows, state).items() if found.reports}

    def bodies(self, task: bytes, group: Group) -> Iterator[list[bytes]]:
        """Yield the bodies of a closed group in stretches, in ascending order of their bytes, all checked."""
        with self._task(task) as (rows, state):
            found = _closed_group(rows, state, group)
        if found.state == SCRUBBED:
            raise InvalidInput("bodies_scrubbed", group=group)
        return self._checked_bodies(state, found)

    def scrub(self, task: bytes, group: Group) -> None:
        """Forget the bodies of a closed group once they were exported, and the secret that links them to tickets."""
        with self._task(task) as (rows, state):
            found = _closed_group(rows, state, group)
            rows.erase("body", *slots_of(found.number))
            rows.save(found._replace(state=SCRUBBED, checks=NO_SUM, secret=b""))
        self._database.tidy()

    def forget(self, task: bytes) -> None:
        """Forget everything of a task but that it was here: its tickets stay spent, whoever presents one."""
        with self._task(task) as (rows, state):
            for found in _groups_of(rows, state).values():
                rows.erase("body", *slots_of(found.number))
            rows.erase("spent", *slots_of(state.number))
            rows.erase("enrolled", *slots_of(state.number))
            rows.drop_groups(state.number)
            rows.drop_document(state.number)
            rows.save(state._replace(groups=0, forgotten=1, enrolment=state.enrolment or bytes(32)))
        self._database.tidy()

    def close(self) -> None:
        """Close files and connections."""
        self._database.close()

    @contextmanager
    def _rows(self, *tasks: bytes) -> Iterator[Rows]:
        """Begin a transaction; damage found in it names these tasks."""
        with naming(*(task.hex() for task in tasks)), self._database.transaction() as rows:
            yield rows

    @contextmanager
    def _task(self, task: bytes) -> Iterator[tuple[Rows, TaskState]]:
        """Begin a transaction about one task, whose row is locked."""
        number = self._number(task)
        with self._rows(task) as rows:
            yield rows, _locked(rows, number, task)

    def _number(self, task: bytes) -> int:
        """Return the number of a task's row; another process may have added it, so the tables are asked."""
        if task not in self._numbers:
            with self._rows(task) as rows:
                self._numbers = {state.digest: state.number for state in _all_tasks(rows)}
        if task not in self._numbers:
            raise UnknownName("task", task.hex(), [known.hex() for known in self._numbers])
        return self._numbers[task]

    def _checked_bodies(self, task: TaskState, state: GroupState) -> Iterator[list[bytes]]:
        """Yield the bodies of a group; damage is reported before the last stretch is yielded."""
        reports = 0
        total = NO_SUM
        waiting = list[bytes]()
        with naming(task.digest.hex()):
            for stretch in self._database.bodies(state.number, task.number):
                if waiting:
                    yield waiting
                waiting = [_checked_body(*row, task.digest, state) for row in stretch]
                reports += len(stretch)
                total = sum_with(total, (int.from_bytes(check, "big") for _, _, check in stretch))
            expected("reports of a group", state.reports, reports)
            expected("the sum of checks", state.checks.hex(), total.hex())
        if waiting:
            yield waiting

    def _checked_serials(self, task: TaskState) -> Iterator[int]:
        """Yield the serial numbers enrolled in a task; damage is reported at the end."""
        devices = 0
        total = NO_SUM
        with naming(task.digest.hex()):
            for stretch in self._database.enrolments(task.number):
                serials = [slot & LAST_SERIAL for (slot,) in stretch]
                devices += len(serials)
                total = sum_with(total, serials)
                yield from serials
            expected("devices enrolled", task.enrolled, devices)
            expected("the sum of serial numbers", task.serials.hex(), total.hex())


def _refuse_large(serials: Sequence[int]) -> None:
    """Refuse a serial number that would be mistaken for another task's."""
    if serials and not 0 <= min(serials) <= max(serials) <= LAST_SERIAL:
        raise InvalidInput("serial_out_of_range", last_serial=LAST_SERIAL)


def _all_tasks(rows: Rows) -> list[TaskState]:
    """Return every task in the order they were added."""
    store = rows.state(StoreState, 1)  # first, so that no other process adds one in between
    states = rows.states(TaskState)
    expected("tasks", store.tasks, len(states))
    return states


def _locked(rows: Rows, number: int, task: bytes) -> TaskState:
    """Return the row of a task, which nobody else changes until the end of the transaction."""
    state = rows.state(TaskState, number)
    expected("the digest of a task", task.hex(), state.digest.hex())
    return state


def _groups_of(rows: Rows, task: TaskState) -> dict[Group, GroupState]:
    """Return every group of a task that has a row."""
    states = rows.states(GroupState, task.number)
    expected("groups", task.groups, len(states))
    return {state.group: state for state in states}


def _new_group(rows: Rows, task: TaskState, group: Group) -> GroupState:
    """Return the state of a group that has no row yet; the caller saves it."""
    store = rows.state(StoreState, 1)
    if store.groups >= MAX_GROUPS - 1:
        raise InvalidInput("too_many_groups", max_groups=MAX_GROUPS - 1)
    rows.save(store._replace(groups=store.groups + 1))
    rows.save(task._replace(groups=task.groups + 1))
    return GroupState(store.groups + 1, task.number, group.level, ROLES.index(group.role))


def _closed_group(rows: Rows, task: TaskState, group: Group) -> GroupState:
    found = _groups_of(rows, task).get(group)
    if found is None or found.state == OPEN:
        raise InvalidInput("group_not_closed", group=group)
    return found


def _take_reports(rows: Rows, number: int, task: bytes, reports: Sequence[AdmittedReport]) -> list[ReportStatus]:
    """Keep what is new and in time, and return a status for each.

    The task is locked last, when the rows are written: until then nobody waits for this process, and whatever another
    one has done in the meantime raises `Overtaken`.
    """
    base = number << SERIAL_BITS
    states = {state.group: state for state in rows.states(GroupState, number)}
    if not states.keys() >= {report.group for report in reports}:
        raise Overtaken
    # After the states: what was accepted before a group closed is seen here, and a repetition of it is `replayed`.
    known = rows.spent([base | report.serial for report in reports])
    new: dict[Group, list[Kept]] = defaultdict(list)
    statuses = [_status(report, base, known, states[report.group], new) for report in reports]
    if new:
        rows.add_spent(sorted((base | serial, check) for kept in new.values() for serial, check, _ in kept))
        rows.add_bodies(
            [
                (states[group].number << SERIAL_BITS | place, serial, body)
                for group, kept in new.items()
                for place, (serial, _, body) in zip(rows.free_places(states[group], len(kept)), kept, strict=True)
            ]
        )
    locked = _groups_of(rows, _locked(rows, number, task))
    if any(group not in locked or locked[group].state != OPEN for group in new):
        raise Overtaken
    if new:
        rows.save(*(_grown(locked[group], kept) for group, kept in new.items()))
    return statuses


def _status(
    report: AdmittedReport, base: int, known: dict[int, bytes], group: GroupState, new: dict[Group, list[Kept]]
) -> ReportStatus:
    slot = base | report.serial
    check = report.check(group.secret)
    kept = known.get(slot)
    if kept is not None:  # what a ticket of a scrubbed group was used for is not known any more
        same = kept == check or group.state == SCRUBBED
        return ReportStatus.REPLAYED if same else ReportStatus.TICKET_SPENT
    if group.state != OPEN:
        return ReportStatus.LEVEL_CLOSED
    known[slot] = check
    new[report.group].append((report.serial, check, report.body))
    return ReportStatus.ACCEPTED


def _grown(state: GroupState, kept: list[Kept]) -> GroupState:
    checks = sum_with(state.checks, (int.from_bytes(check, "big") for _, check, _ in kept))
    return state._replace(reports=state.reports + len(kept), checks=checks)


def _checked_body(serial: Any, body: Any, check: Any, task: bytes, state: GroupState) -> bytes:
    likely = type(body) is bytes and type(serial) is int and 0 <= serial <= LAST_SERIAL
    if not likely or check != AdmittedReport(task, serial, state.group, body).check(state.secret):
        raise RowDamaged(f"the report of ticket {serial} was changed")
    return cast(bytes, body)
