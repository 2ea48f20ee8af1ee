"""A party's store under load, in a process of its own: `python -m tests.support.loaded_store WHERE FIRST`.

Several threads submit reports through group commit and write every serial number to standard output once it was
acknowledged, until somebody kills the process.
"""

import os
import sys
from itertools import count
from threading import Lock, Thread

from tests.support.reports import FIRST, SECOND, TASK, report

from treetop.adapters.store_choice import open_stores
from treetop.errors import StoreUnavailable
from treetop.federation.service_ports import AdmittedReport
from treetop.services.party.group_commit import GroupCommit

THREADS = 4
AT_ONCE = 7


class Serials:
    """Gives out serial numbers, each once, from a number on."""

    def __init__(self, first: int) -> None:
        self._numbers, self._turn = count(first, AT_ONCE), Lock()

    def next(self) -> range:
        with self._turn:
            first = next(self._numbers)
        return range(first, first + AT_ONCE)


def submit_on(writer: GroupCommit, serials: Serials) -> None:
    """Submit for ever; a database that is away is asked again for the same reports."""
    while True:
        block = serials.next()
        call = [report(serial, SECOND if serial % 3 else FIRST) for serial in block]
        while not _acknowledged(writer, call, block):
            pass


def _acknowledged(writer: GroupCommit, call: list[AdmittedReport], block: range) -> bool:
    try:
        verdicts = writer.submit(call).result()
    except StoreUnavailable:
        return False
    assert all(verdict.counts for verdict in verdicts), verdicts
    os.write(1, "".join(f"{serial}\n" for serial in block).encode())
    return True


def main(where: str, first: int) -> None:
    store, _ = open_stores(where)
    store.add_task(TASK, b"the task")
    writer, serials = GroupCommit(store), Serials(first)
    threads = [Thread(target=submit_on, args=(writer, serials)) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    os.write(1, b"ready\n")
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
