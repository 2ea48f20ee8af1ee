"""The store of a party's reports in tables, whichever database holds them."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from treetop.adapters.relational.intake import refuse_large, take_enrolments, take_reports
from treetop.adapters.relational.states import SCRUBBED, StoreState, TaskState, seal_of
from treetop.adapters.relational.stored_groups import close, closed, groups_of, raise_epoch
from treetop.adapters.relational.stored_tasks import StoredTasks, all_tasks, document_of, naming_each
from treetop.adapters.relational.stretches import checked_bodies, checked_serials
from treetop.adapters.relational.tables import LAST_SERIAL, Database, slots_of
from treetop.errors import InvalidInput
from treetop.federation.service_ports import AdmittedReport, ClosedEnrolment
from treetop.federation.wire.uploads import ReportStatus
from treetop.trie.user_groups import Group


class RelationalReportStore:
    """Run by the party: the `ReportStore` port."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._tasks = StoredTasks(database)

    def add_task(self, task: bytes, document: bytes) -> None:
        """Keep a signed task under its digest; again, the same document, does nothing."""
        with self._tasks.rows(task) as rows:
            store = rows.state(StoreState, 1)
            known = {state.digest: state for state in all_tasks(rows, store)}
            if task in known:
                _refuse_another(known[task], document)
                return
            rows.save(TaskState(store.tasks + 1, task, seal_of(document)))
            rows.add_document(store.tasks + 1, document)
            rows.save(store._replace(tasks=store.tasks + 1))

    def tasks(self) -> Mapping[bytes, bytes]:
        """Return every task's document by digest, in the order they were added, less those forgotten."""
        with self._tasks.rows() as rows:
            states = all_tasks(rows, rows.state(StoreState, 1))
            return {state.digest: document_of(rows, state) for state in states if not state.forgotten}

    def issue_tickets(self, task: bytes, count: int) -> range:
        """Return serial numbers that were never returned before."""
        with self._tasks.one(task) as (rows, state):
            _refuse_tickets(state, count)
            rows.save(state._replace(tickets=state.tickets + count))
            return range(state.tickets, state.tickets + count)

    def tickets_issued(self, task: bytes) -> int:
        """Return how many serial numbers were given out."""
        with self._tasks.one(task) as (_, state):
            return state.tickets

    def enrol(self, task: bytes, serials: Sequence[int]) -> list[ReportStatus]:
        """Enrol devices (rounds): accepted, replayed, or enrolment_closed; who is in stays `replayed`."""
        refuse_large(serials)
        with self._tasks.one(task) as (rows, state):
            return take_enrolments(rows, state, serials)

    def close_enrolment(self, task: bytes) -> ClosedEnrolment:
        """Enrol nobody from here on; again, the same answer."""
        with self._tasks.one(task) as (rows, state):
            if state.enrolment:
                return ClosedEnrolment(state.enrolled, state.enrolment)
            answer = ClosedEnrolment.of(checked_serials(self._database, state))
            rows.save(state._replace(enrolment=answer.digest))
            raise_epoch(rows)
            return answer

    def enrolled(self, task: bytes) -> Iterator[int]:
        """Yield the serial numbers enrolled, ascending; damage raises `StoreDamaged` at the end."""
        with self._tasks.one(task) as (_, state):
            pass
        return iter(()) if state.forgotten else naming_each(task, checked_serials(self._database, state))

    def submit(self, reports: Sequence[AdmittedReport]) -> list[ReportStatus]:
        """Keep reports, all in one commit: accepted, replayed (same check), ticket_spent (another), level_closed."""
        refuse_large([report.serial for report in reports])
        places: dict[bytes, list[int]] = defaultdict(list)
        for place, report in enumerate(reports):
            places[report.task].append(place)
        numbers = sorted((self._tasks.number(task), task) for task in places)
        verdicts: dict[int, ReportStatus] = {}
        with self._tasks.rows(*places) as rows:
            for number, task in numbers:
                state = self._tasks.locked(rows, number, task)
                found = take_reports(rows, state, [reports[place] for place in places[task]])
                verdicts.update(zip(places[task], found, strict=True))
        return [verdicts[place] for place in range(len(reports))]

    def close_group(self, task: bytes, group: Group) -> int:
        """Accept nothing for a group from here on; return its reports; again, the same answer."""
        with self._tasks.one(task) as (rows, state):
            return 0 if state.forgotten else close(rows, state, group).reports

    def counts(self, task: bytes) -> Mapping[Group, int]:
        """Return the reports of every group that has any."""
        with self._tasks.one(task) as (rows, state):
            return {group: found.reports for group, found in groups_of(rows, state).items() if found.reports}

    def bodies(self, task: bytes, group: Group) -> Iterator[list[bytes]]:
        """Yield the bodies of a closed group in stretches, in ascending order of serial numbers, all checked."""
        with self._tasks.one(task) as (rows, state):
            found = closed(rows, state, group)
        if found.state == SCRUBBED:
            raise InvalidInput(f"the bodies of {group} were scrubbed: they lie in report files")
        return naming_each(task, checked_bodies(self._database, state, found))

    def scrub(self, task: bytes, group: Group) -> None:
        """Forget the bodies of a closed group once they were exported; serial numbers and checks stay."""
        with self._tasks.one(task) as (rows, state):
            found = closed(rows, state, group)
            rows.erase("body", *slots_of(found.number))
            rows.save(found._replace(state=SCRUBBED))
        self._database.tidy()

    def forget(self, task: bytes) -> None:
        """Forget everything of a task but that it was here: its tickets stay spent, whoever presents one."""
        with self._tasks.one(task) as (rows, state):
            for found in groups_of(rows, state).values():
                rows.erase("body", *slots_of(found.number))
            rows.erase("spent", *slots_of(state.number))
            rows.erase("enrolled", *slots_of(state.number))
            rows.drop_groups(state.number)
            rows.drop_document(state.number)
            rows.save(state._replace(groups=0, forgotten=1, enrolment=state.enrolment or bytes(32)))
        self._database.tidy()

    def close(self) -> None:
        """Let go of files and connections."""
        self._database.close()


def _refuse_another(state: TaskState, document: bytes) -> None:
    if not state.forgotten and state.document != seal_of(document):
        raise InvalidInput(f"task {state.digest.hex()} is here already, with another document")


def _refuse_tickets(state: TaskState, count: int) -> None:
    if state.forgotten:
        raise InvalidInput(f"task {state.digest.hex()} is over and was forgotten: it has no more tickets")
    if count < 1 or state.tickets + count > LAST_SERIAL:
        raise InvalidInput(f"tickets are issued from 1 up to {LAST_SERIAL} in all, found {count} more")
