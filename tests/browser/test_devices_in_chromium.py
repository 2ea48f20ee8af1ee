"""Devices that are real pages, each with a profile of its own, in front of a real party on another origin."""

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from queue import Queue
from typing import Any

import pytest
from tests.support import tasks
from tests.support.chromium import Chromium, PageError, Tab
from tests.support.clocks import HandClock
from tests.support.parties import NAME, SIGNING, Hosted, document, live
from tests.support.typescript import Site

from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.federation.task import Deadlines, DeviceTask
from treetop.federation.wire.report_batches import decoded_batch

DEVICES = 50


def open_task(oracle: str = "olh", name: str = "fruit") -> DeviceTask:
    now = int(time.time())
    deadlines = Deadlines(now - 1000, now + 50_000, now + 50_000, 60)
    return replace(tasks.task(oracle, name=name), parties=("south", NAME), deadlines=deadlines)


class PartyOfPages:
    """A party in this process, and what pages must know of it."""

    def __init__(self, site: Site, task: DeviceTask, port: int, hosted: Hosted) -> None:
        self.task, self.hosted, self._site = task, hosted, site
        self.url = f"http://127.0.0.1:{port}"

    def options(self, ticket: str) -> str:
        return json.dumps({
            "party": self.url, "partyName": NAME, "task": self.task.digest.hex(),
            "serverKeys": [SIGNING.public], "ticket": ticket,
        })  # fmt: skip

    def tickets(self, count: int) -> list[str]:
        return self.hosted.party.issue(self.task.digest, count)

    @property
    def stored(self) -> Counter[tuple[int, str]]:
        """Return how many reports of each group the party has."""
        counts = self.hosted.store.counts(self.task.digest)
        return Counter({(group.level, group.role.value): count for group, count in counts.items() if count})


@pytest.fixture(scope="module")
def party(site: Site) -> Iterator[PartyOfPages]:
    hosted = Hosted(MemoryReportStore(), HandClock(int(time.time())), allowed_origins=(site.origin,))
    task = open_task()
    hosted.party.install(document(task))
    with live(hosted.context) as port:
        yield PartyOfPages(site, task, port, hosted)


def answer(tab: Tab, options: str, item: str = "7", told: str = "") -> str:
    """Answer through the package as it ships; return the verdict."""
    opened = f"(await import('/dist/browser.js')).openDevice({{...{options}{told}}})"
    verdict: str = tab.run(f"(async () => (await {opened}).answer('{item}'))()")
    return verdict


def status(tab: Tab, options: str) -> dict[str, Any]:
    found: dict[str, Any] = tab.run(
        f"(async () => {{ const s = await (await (await import('/dist/browser.js')).openDevice({options})).status();"
        " return {...s, report: s.report && Array.from(s.report)}; })()"
    )
    return found


def test_fifty_pages_report_once_each(site: Site, browser: Chromium, party: PartyOfPages) -> None:
    before, reports = party.stored, set[bytes]()
    for ticket in party.tickets(DEVICES):
        tab = browser.tab(site.origin)
        assert answer(tab, party.options(ticket)) == "accepted"
        found = status(tab, party.options(ticket))
        assert (found["stage"], found["spent"], found["lifetime"]) == ("delivered", "1", "8")
        reports.add(bytes(found["report"]))
        browser.forget(tab.profile)
    assert (party.stored - before).total() == DEVICES
    assert len(reports) == DEVICES
    for report in reports:
        decoded = decoded_batch(report)
        assert decoded.envelope.task == party.task.digest
        assert decoded.reports()


def test_a_page_that_is_reloaded_sends_the_same_bytes(site: Site, browser: Chromium, party: PartyOfPages) -> None:
    (ticket,) = party.tickets(1)
    tab = browser.tab(site.origin)
    assert answer(tab, party.options(ticket)) == "accepted"
    made = status(tab, party.options(ticket))
    tab.go(site.origin)
    assert answer(tab, party.options("00" * 24), "12") == "replayed"
    assert status(tab, party.options(ticket)) == made
    browser.forget(tab.profile)


def test_two_tabs_at_once_give_one_report(site: Site, browser: Chromium, party: PartyOfPages) -> None:
    for ticket in party.tickets(5):
        before = party.stored
        tabs = [browser.tab(site.origin, profile) for profile in [browser.profile()] * 2]
        for tab in tabs:
            opened = f"import('/dist/browser.js').then((package) => package.openDevice({party.options(ticket)}))"
            tab.begin(f"window.verdict = {opened}.then((device) => device.answer('7'))")
        assert sorted(tab.run("window.verdict") for tab in tabs) == ["accepted", "replayed"]
        assert (party.stored - before).total() == 1
        browser.forget(tabs[0].profile)


def test_a_page_of_another_origin_is_refused(browser: Chromium, party: PartyOfPages) -> None:
    from tests.support.typescript import serving

    before = party.stored
    with serving(Site()) as other:
        (ticket,) = party.tickets(1)
        tab = browser.tab(other.origin)
        with pytest.raises(PageError, match="does not answer: TypeError"):
            answer(tab, party.options(ticket), told=", retryFor: 300")
        browser.forget(tab.profile)
    assert party.stored == before


def test_a_ledger_of_another_time_is_noticed(site: Site, browser: Chromium, party: PartyOfPages) -> None:
    (ticket,) = party.tickets(1)
    tab = browser.tab(site.origin)
    assert answer(tab, party.options(ticket)) == "accepted"
    tab.run("new Promise((done) => { indexedDB.deleteDatabase('treetop').onsuccess = () => done(); })")
    with pytest.raises(PageError, match="counter of the ledger: expected 3 at least, found 0"):
        answer(tab, party.options(ticket))
    browser.forget(tab.profile)


def test_a_tab_killed_at_any_step_sends_one_report_and_it_arrives(
    site: Site, browser: Chromium, party: PartyOfPages
) -> None:
    """The process of the page is killed, as by a crash; the next tab of the same profile sends the same bytes."""
    ends, over, tabs = Queue[str](), threading.Event(), list[Tab]()

    def kill() -> bytes:
        """Asked by the page at its last step, which waits for the answer."""
        tabs[-1].kill()
        ends.put("killed")
        over.wait(600)
        return b""

    def finish() -> bytes:
        ends.put("finished")
        return b""

    site.pages |= {"/kill": kill, "/finish": finish}
    fatal, last = 0, ""
    while last != "finished":
        (ticket,) = party.tickets(1)
        profile, before = browser.profile(), party.stored
        tabs.append(browser.tab(site.origin, profile))
        play = (
            f"import('/build/tests/support/killedDevice.js').then((module) => module.run({party.options(ticket)}, %d))"
        )
        tabs[-1].begin(f"{play % fatal}.then(() => fetch('/finish'))")
        last = ends.get(timeout=120)
        tabs[-1].close()
        assert (party.stored - before).total() <= 1
        again = browser.tab(site.origin, profile)
        verdict, _ = again.run(play % -1)
        assert verdict in {"accepted", "replayed"}
        assert (party.stored - before).total() == 1, f"killed before step {fatal}"
        assert status(again, party.options(ticket))["stage"] == "delivered"
        browser.forget(profile)
        fatal += 1
    over.set()
    assert fatal > 25
