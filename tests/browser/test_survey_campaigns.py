"""A survey that is asked every week, as visitors meet it: a browser draws its week and is asked in no other."""

import time
from collections.abc import Iterator
from dataclasses import replace

import pytest
from tests.browser.test_devices_in_chromium import PartyOfPages, open_task, status
from tests.browser.test_survey_element import IN_SURVEY, opened, page, shown
from tests.support.chromium import Chromium
from tests.support.clocks import HandClock
from tests.support.parties import SIGNING, Hosted, document, live
from tests.support.typescript import Site

from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.federation.campaign import WEEK, Campaign, template_of
from treetop.federation.task import Deadlines
from treetop.federation.wire.signed_documents import signed_campaign
from treetop.federation.wire.uploads import Refusal

MOST_VISITORS = 31
"""All of one kind, of two kinds alike: once in 10^9 runs."""


@pytest.fixture
def weeks(site: Site) -> Iterator[list[PartyOfPages]]:
    """This week and the next one of a campaign of two weeks."""
    now = int(time.time())
    hosted = Hosted(MemoryReportStore(), HandClock(now), allowed_origins=(site.origin,))
    asked = Campaign(template_of(open_task(name="fruit")), now - WEEK // 2, weeks=2)
    found = []
    with live(hosted.context) as port:
        for week in range(asked.weeks):
            opens, ends = asked.opens(0, week), asked.ends(0, week)
            deadlines = Deadlines(opens, ends, ends, asked.template.deadlines.level_seconds)
            named = replace(asked.template, name=asked.task_name(0, week), campaign=asked.week(0, week))
            task = replace(named, deadlines=deadlines)
            hosted.party.install(document(task))
            hosted.party.give_campaign(task.digest, signed_campaign(asked, SIGNING))
            found.append(PartyOfPages(site, task, port, hosted))
        yield found


def test_a_visitor_is_asked_in_her_own_week_and_otherwise_told_which_it_is(
    site: Site, browser: Chromium, weeks: list[PartyOfPages]
) -> None:
    this_week, _ = weeks
    choices = "<option>7</option><option>9</option>"
    now, later = 0, 0
    for _ in range(MOST_VISITORS):
        content = page(this_week, choices)
        tab = opened(site, browser, content)
        if tab.run(f"(async () => {{ {WAITED} return {IN_SURVEY}.querySelector('form') !== null; }})()"):
            now += 1
            tab.run(f"{IN_SURVEY}.querySelector('input[value=\"7\"]').click()")
            tab.run(f"{IN_SURVEY}.querySelector('button.main').click()")
            assert "sends nothing else for this survey in these 2 weeks" in shown(tab, "Your report has arrived")
        else:
            later += 1
            text = shown(tab, "Your week is week 2 of 2, from ")
            assert "Please come back then." in text
            assert "The survey was told that this is not your week, and nothing else." in text
            tab.go(f"{site.origin}/survey")
            assert shown(tab, "Your week is week 2 of 2") == text
        found = status(tab, this_week.options("00" * 24))
        assert (found["spent"], found["window"]["spent"], found["week"]["weeks"]) == ("1", "1", 2)
        browser.forget(tab.profile)
        if now and later:
            break
    assert now
    assert later
    assert this_week.stored.total() == now
    told = this_week.hosted.party.task(this_week.task.digest).published.refusals.counts
    assert told == {Refusal.NOT_MY_WEEK: later}  # a page that is opened again tells it once


WAITED = (
    "while (!document.querySelector('treetop-survey').shadowRoot?.querySelector('form, strong')) "
    "await new Promise((done) => setTimeout(done, 20));"
)
