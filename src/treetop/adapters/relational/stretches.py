"""Reading many rows back: none is passed on as the last before all of them were compared with what was kept."""

from collections.abc import Iterator
from typing import Any, cast

from treetop.adapters.relational.states import NO_SUM, GroupState, RowDamaged, TaskState, expected, sum_with
from treetop.adapters.relational.tables import LAST_SERIAL, Database
from treetop.federation.service_ports import AdmittedReport


def checked_bodies(database: Database, task: TaskState, state: GroupState) -> Iterator[list[bytes]]:
    """Yield the bodies of a group; damage is reported before the last stretch is yielded."""
    reports, total, waiting = 0, NO_SUM, list[bytes]()
    for stretch in database.bodies(state.number, task.number):
        if waiting:
            yield waiting
        waiting = [_checked(*row, task.digest, state) for row in stretch]
        reports += len(stretch)
        total = sum_with(total, (int.from_bytes(check, "big") for _, _, check in stretch))
    expected("reports of a group", state.reports, reports)
    expected("the sum of checks", state.checks.hex(), total.hex())
    if waiting:
        yield waiting


def _checked(serial: Any, body: Any, check: Any, task: bytes, state: GroupState) -> bytes:
    likely = type(body) is bytes and type(serial) is int and 0 <= serial <= LAST_SERIAL
    if not likely or check != AdmittedReport(task, serial, state.group, body).check:
        raise RowDamaged(f"the report of ticket {serial} was changed")
    return cast(bytes, body)


def checked_serials(database: Database, task: TaskState) -> Iterator[int]:
    """Yield the serial numbers enrolled in a task; damage is reported at the end."""
    devices, total = 0, NO_SUM
    for stretch in database.enrolments(task.number):
        serials = [slot & LAST_SERIAL for (slot,) in stretch]
        devices += len(serials)
        total = sum_with(total, serials)
        yield from serials
    expected("devices enrolled", task.enrolled, devices)
    expected("the sum of serial numbers", task.serials.hex(), total.hex())
