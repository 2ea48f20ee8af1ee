"""Reports as a party has admitted them, for stores to keep."""

from collections.abc import Iterable

from treetop.federation.service_ports import AdmittedReport
from treetop.trie.user_groups import Group, Role

TASK, OTHER = bytes(range(32)), bytes(range(100, 132))
FIRST, SECOND = Group(1), Group(2, Role.VALIDATE_FREQUENT)


def body_of(serial: int, version: int = 0) -> bytes:
    return (serial * 2654435761 % (1 << 40)).to_bytes(5, "big") + bytes([version])


def report(serial: int, group: Group = FIRST, version: int = 0, task: bytes = TASK) -> AdmittedReport:
    return AdmittedReport(task, serial, group, body_of(serial, version))


def reports(serials: Iterable[int], group: Group = FIRST, task: bytes = TASK) -> list[AdmittedReport]:
    return [report(serial, group, task=task) for serial in serials]
