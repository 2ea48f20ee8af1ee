"""Reports and enrolments on their way into the tables: which is the first with its ticket."""

from collections import defaultdict
from collections.abc import Sequence

from treetop.adapters.relational.states import OPEN, GroupState, TaskState, sum_with
from treetop.adapters.relational.stored_groups import groups_of, new_group
from treetop.adapters.relational.tables import LAST_SERIAL, SERIAL_BITS, Rows
from treetop.errors import InvalidInput
from treetop.federation.service_ports import AdmittedReport
from treetop.federation.wire.uploads import ReportStatus
from treetop.trie.user_groups import Group

Kept = tuple[int, bytes, bytes]
"""Serial number, check and body of a report that is new."""


def refuse_large(serials: Sequence[int]) -> None:
    """Refuse a serial number that would be taken for another task's."""
    if serials and not 0 <= min(serials) <= max(serials) <= LAST_SERIAL:
        raise InvalidInput(f"serial numbers run from 0 to {LAST_SERIAL}, found others")


def take_reports(rows: Rows, task: TaskState, reports: Sequence[AdmittedReport]) -> list[ReportStatus]:
    """Keep what is new and in time, and return a verdict for each."""
    if task.forgotten:
        return [ReportStatus.TICKET_SPENT] * len(reports)
    base = task.number << SERIAL_BITS
    known = rows.spent([base | report.serial for report in reports])
    states = groups_of(rows, task)
    shut = {group for group, state in states.items() if state.state != OPEN}
    fresh: dict[Group, list[Kept]] = defaultdict(list)
    verdicts = [_judged(report, base, known, shut, fresh) for report in reports]
    for group in (group for group in fresh if group not in states):
        states[group] = new_group(rows, task, group)
        task = task._replace(groups=task.groups + 1)
    if fresh:
        _keep(rows, base, [(states[group], kept) for group, kept in fresh.items()])
    return verdicts


def _keep(rows: Rows, base: int, fresh: Sequence[tuple[GroupState, list[Kept]]]) -> None:
    """Write the tickets spent, the bodies behind those that are there, and the new number and sum of every group."""
    rows.add_spent([(base | serial, check) for _, kept in fresh for serial, check, _ in kept])
    rows.add_bodies([
        ((state.number << SERIAL_BITS | state.reports) + place, serial, body)
        for state, kept in fresh
        for place, (serial, _, body) in enumerate(kept)
    ])  # fmt: skip
    rows.save(*(_grown(state, kept) for state, kept in fresh))


def _grown(state: GroupState, kept: list[Kept]) -> GroupState:
    checks = sum_with(state.checks, (int.from_bytes(check, "big") for _, check, _ in kept))
    return state._replace(reports=state.reports + len(kept), checks=checks)


def _judged(
    report: AdmittedReport, base: int, known: dict[int, bytes], shut: set[Group], fresh: dict[Group, list[Kept]]
) -> ReportStatus:
    slot, check = base | report.serial, report.check
    kept = known.get(slot)
    if kept is not None:
        return ReportStatus.REPLAYED if kept == check else ReportStatus.TICKET_SPENT
    if report.group in shut:
        return ReportStatus.LEVEL_CLOSED
    known[slot] = check
    fresh[report.group].append((report.serial, check, report.body))
    return ReportStatus.ACCEPTED


def take_enrolments(rows: Rows, task: TaskState, serials: Sequence[int]) -> list[ReportStatus]:
    """Keep whoever is new and in time, and return a verdict for each."""
    base = task.number << SERIAL_BITS
    known = rows.enrolled([base | serial for serial in serials])
    fresh = dict.fromkeys(serial for serial in serials if base | serial not in known)
    if fresh and not task.enrolment:
        rows.add_enrolled([base | serial for serial in fresh])
        serial_sum = sum_with(task.serials, fresh)
        rows.save(task._replace(enrolled=task.enrolled + len(fresh), serials=serial_sum))
    return _enrolment_verdicts(serials, fresh, bool(task.enrolment))


def _enrolment_verdicts(serials: Sequence[int], fresh: dict[int, None], is_closed: bool) -> list[ReportStatus]:
    first = ReportStatus.ENROLMENT_CLOSED if is_closed else ReportStatus.ACCEPTED
    again = ReportStatus.ENROLMENT_CLOSED if is_closed else ReportStatus.REPLAYED
    verdicts, seen = [], set[int]()
    for serial in serials:
        if serial not in fresh:
            verdicts.append(ReportStatus.REPLAYED)
        else:
            verdicts.append(again if serial in seen else first)
            seen.add(serial)
    return verdicts
