"""Pages, Node and Python beside each other in front of one real party: their reports have one law.

All hold the same item. Compared with Python's are how many of each kind answer at every level (chi-square), and how
many reports support the item, from which the party's answer is computed (difference of two shares). With 20,000 Node
and 22,000 Python devices a share that is off by 0.042 is seen with probability above 0.99, with 2,000 pages one off by
0.1; a false alarm is one in 10^9. The quick run, of 200 each, sees one off by 0.43: it shows that all are taken.
"""

import json
import subprocess
import time
from collections.abc import Iterator, Sequence
from math import sqrt
from typing import Any

import numpy as np
import pytest
from scipy import stats
from tests.browser.test_devices_in_chromium import PartyOfPages, answer, open_task
from tests.statistical.settings import FALSE_ALARM, Z
from tests.support.chromium import Chromium
from tests.support.clocks import HandClock
from tests.support.parties import Hosted, document, live
from tests.support.tasks import new_ledger
from tests.support.typescript import Site, built, node

from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.adapters.system.host import SystemEntropy
from treetop.federation.device.device import Device
from treetop.federation.wire.uploads import ReportStatus, TicketedReport, encoded_upload
from treetop.oracles.protocol import key_of

ITEM = 7
Reports = list[tuple[int, bytes]]
"""Level and body of every report."""


@pytest.fixture
def party(site: Site) -> Iterator[PartyOfPages]:
    hosted = Hosted(MemoryReportStore(), HandClock(int(time.time())), allowed_origins=(site.origin,))
    task = open_task(name=f"law {time.monotonic_ns()}")
    hosted.party.install(document(task))
    with live(hosted.context) as port:
        yield PartyOfPages(site, task, port, hosted)


def of_node(party: PartyOfPages, tickets: Sequence[str]) -> None:
    job = {**json.loads(party.options("")), "item": str(ITEM), "tickets": tickets}
    script = built() / "build" / "tests" / "support" / "fleet.js"
    done = subprocess.run(
        [node(), "--no-warnings", str(script)], input=json.dumps(job), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"accepted": len(tickets)}


def of_python(party: PartyOfPages, tickets: Sequence[str]) -> None:
    entropy = SystemEntropy()
    devices = (Device(lambda: ITEM, entropy, new_ledger()) for _ in tickets)
    made = [
        TicketedReport(bytes.fromhex(ticket), device.answer_once(party.task))
        for ticket, device in zip(tickets, devices, strict=True)
    ]
    for start in range(0, len(made), 5_000):
        screened = party.hosted.party.screened(party.task.digest, encoded_upload(made[start : start + 5_000]), 10_000)
        verdicts = screened.answered(party.hosted.store.submit(screened.admitted))
        assert set(verdicts) == {ReportStatus.ACCEPTED}


def of_pages(site: Site, browser: Chromium, party: PartyOfPages, tickets: Sequence[str]) -> None:
    for ticket in tickets:
        tab = browser.tab(site.origin)
        assert answer(tab, party.options(ticket), str(ITEM)) == "accepted"
        browser.forget(tab.profile)


def reports(party: PartyOfPages, tickets: Sequence[str]) -> Reports:
    serials = {int(ticket[:16], 16) for ticket in tickets}
    store: Any = party.hosted.store
    bodies = store._tasks[party.task.digest].bodies
    return [(group.level, body) for group, kept in bodies.items() for serial, body in kept.items() if serial in serials]


def same_law(party: PartyOfPages, ours: Reports, pythons: Reports) -> None:
    task, face = party.task, party.task.unlisted_face
    levels = sorted(entry.group.level for entry in task.groups)
    table = np.array([[sum(level == each for each, _ in kind) for level in levels] for kind in (ours, pythons)])
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM
    shares = []
    for kind in (ours, pythons):
        keys = {level: key_of(ITEM >> (task.bits - task.lengths[level])) for level in levels}
        shares.append(sum(face.supports(face.checked(body), keys[level]) for level, body in kind) / len(kind))
    spread = sqrt(shares[1] * (1 - shares[1]) * (1 / len(ours) + 1 / len(pythons)))
    assert abs(shares[0] - shares[1]) < Z * spread
    p = face.thresholds[0] / 2**64
    assert abs(shares[1] - p) < Z * sqrt(p * (1 - p) / len(pythons))


def compared(site: Site, browser: Chromium, party: PartyOfPages, *, pages: int, nodes: int, pythons: int) -> None:
    tickets = party.tickets(pages + nodes + pythons)
    by_page, by_node, by_python = tickets[:pages], tickets[pages : pages + nodes], tickets[pages + nodes :]
    of_node(party, by_node)
    of_python(party, by_python)
    of_pages(site, browser, party, by_page)
    assert party.stored.total() == pages + nodes + pythons
    python_reports = reports(party, by_python)
    same_law(party, reports(party, by_node), python_reports)
    same_law(party, reports(party, by_page), python_reports)


def test_a_few_devices_of_every_kind_are_taken(site: Site, browser: Chromium, party: PartyOfPages) -> None:
    compared(site, browser, party, pages=10, nodes=200, pythons=200)


@pytest.mark.slow
def test_thousands_of_devices_of_every_kind_have_one_law(site: Site, browser: Chromium, party: PartyOfPages) -> None:
    compared(site, browser, party, pages=2_000, nodes=20_000, pythons=22_000)
