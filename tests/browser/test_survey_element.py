"""`<treetop-survey>` as a person meets it: by keyboard, in light and dark, on a phone, with and without a network."""

import html
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from tests.browser.test_devices_in_chromium import PartyOfPages, open_task
from tests.support.chromium import Chromium, Tab
from tests.support.clocks import HandClock
from tests.support.parties import NAME, SIGNING, Hosted, document, live
from tests.support.typescript import Site

from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.oracles.set_reports import SetQuestion

WAITING_SECONDS = 60
IN_SURVEY = "document.querySelector('treetop-survey').shadowRoot"


@pytest.fixture(scope="module")
def party(site: Site) -> Iterator[PartyOfPages]:
    hosted = Hosted(MemoryReportStore(), HandClock(int(time.time())), allowed_origins=(site.origin,))
    task = open_task(name="Which <b>fruit</b> & why?")
    hosted.party.install(document(task))
    with live(hosted.context) as port:
        yield PartyOfPages(site, task, port, hosted)


def page(party: PartyOfPages, inside: str = "", **attributes: str) -> bytes:
    (ticket,) = party.tickets(1)
    given = {
        "party": party.url, "party-name": NAME, "task": party.task.digest.hex(), "server-keys": SIGNING.public,
        "ticket": ticket, **{name.replace("_", "-"): value for name, value in attributes.items()},
    }  # fmt: skip
    written = " ".join(f'{name}="{html.escape(value)}"' for name, value in given.items())
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<script type=module src=/dist/survey.js></script><treetop-survey {written}>{inside}</treetop-survey>"
    ).encode()


def shown(tab: Tab, words: str) -> str:
    """Wait until the survey shows some words; return all that it shows."""
    end = time.monotonic() + WAITING_SECONDS
    while True:
        text: str = tab.run(f"{IN_SURVEY}?.querySelector('section')?.innerText ?? ''")
        if words in text:
            return text
        assert time.monotonic() < end, text
        time.sleep(0.05)


def opened(site: Site, browser: Chromium, content: bytes) -> Tab:
    site.pages["/survey"] = lambda: content
    return browser.tab(f"{site.origin}/survey")


def focused(tab: Tab) -> Any:
    return tab.run(f"{IN_SURVEY}.activeElement?.value || {IN_SURVEY}.activeElement?.innerText")


def test_a_person_answers_with_the_keyboard_alone(site: Site, browser: Chromium, party: PartyOfPages) -> None:
    choices = "<option value=7>seven</option><option value=9>nine &lt;i&gt;</option>"
    before = party.stored
    tab = opened(site, browser, page(party, choices))
    text = shown(tab, "Send")
    assert "Which <b>fruit</b> & why?" in text  # a text, not markup
    assert "nine <i>" in text
    assert "One randomised report of 82 bytes leaves this device, never your answer" in text
    assert "at most 74 times in 100" in text  # e / (1 + e) is 0.731
    tab.press("Tab")
    tab.press(" ", " ")
    assert focused(tab) == "7"
    tab.press("Tab")
    assert focused(tab) == "Send"
    tab.press("Tab")
    assert focused(tab) == "Show me the bytes first"
    tab.press("Enter", "\r")
    made = shown(tab, "It has not left this device yet")
    assert party.stored == before
    assert focused(tab) == "Send these bytes"
    tab.press("Enter", "\r")
    shown(tab, "Your report has arrived")
    assert (party.stored - before).total() == 1
    code = tab.run(f"Array.from({IN_SURVEY}.querySelectorAll('code'), (code) => code.textContent).join('')")
    assert all(part in code for part in made.split() if len(part) > 60)
    (kept,) = sent_bytes(party, before)
    assert kept.hex() in code[2 * 77 :]
    tab.go(f"{site.origin}/survey")
    assert "sends nothing else" in shown(tab, "Your report has arrived")
    assert (party.stored - before).total() == 1
    browser.forget(tab.profile)


def sent_bytes(party: PartyOfPages, before: Any) -> list[bytes]:
    """Return the bodies of the reports that the party has got since."""
    ((level, role),) = (party.stored - before).keys()
    store: Any = party.hosted.store
    bodies = store._tasks[party.task.digest].bodies
    group = next(group for group in bodies if (group.level, group.role.value) == (level, role))
    return list(bodies[group].values())[-1:]


def test_a_text_field_takes_what_is_written_and_wants_something(
    site: Site, browser: Chromium, party: PartyOfPages
) -> None:
    site.pages["/items.txt"] = lambda: "\n".join(map(str, range(40))).encode()
    tab = opened(site, browser, page(party, items="/items.txt", question="Your number?", label="A number"))
    assert "Your number?" in shown(tab, "A number")
    assert tab.run(f"{IN_SURVEY}.querySelectorAll('datalist option').length") == 40
    tab.run(f"{IN_SURVEY}.querySelector('button.main').click()")
    shown(tab, "Please give an answer first")
    assert tab.run(f"{IN_SURVEY}.activeElement.id") == "item"
    before = party.stored
    tab.write("  12 ")
    tab.press("Enter", "\r")
    shown(tab, "Your report has arrived")
    assert (party.stored - before).total() == 1
    browser.forget(tab.profile)


@pytest.fixture(scope="module")
def party_of_sets(site: Site) -> Iterator[PartyOfPages]:
    hosted = Hosted(MemoryReportStore(), HandClock(int(time.time())), allowed_origins=(site.origin,))
    task = replace(open_task(name="sets"), sets=SetQuestion(4, "holders"))
    hosted.party.install(document(task))
    with live(hosted.context) as port:
        yield PartyOfPages(site, task, port, hosted)


@pytest.mark.parametrize("ticked", [(), (0, 2)])
def test_boxes_are_ticked_where_a_task_is_about_sets(
    site: Site, browser: Chromium, party_of_sets: PartyOfPages, ticked: tuple[int, ...]
) -> None:
    before = party_of_sets.stored
    tab = opened(site, browser, page(party_of_sets, "<option>7</option><option>9</option><option>12</option>"))
    assert "Tick all that apply, or none" in shown(tab, "Send")
    boxes = f"{IN_SURVEY}.querySelectorAll('input[type=checkbox]')"
    assert tab.run(f"{boxes}.length") == 3
    for place in ticked:
        tab.run(f"{boxes}[{place}].click()")
    tab.run(f"{IN_SURVEY}.querySelector('button.main').click()")
    shown(tab, "Your report has arrived")
    assert (party_of_sets.stored - before).total() == 1
    browser.forget(tab.profile)


@pytest.mark.parametrize("written", ["", " 7 , 9,,no number"])
def test_commas_are_between_items_where_a_task_is_about_sets(
    site: Site, browser: Chromium, party_of_sets: PartyOfPages, written: str
) -> None:
    before = party_of_sets.stored
    tab = opened(site, browser, page(party_of_sets))
    assert "with commas between them" in shown(tab, "Send")
    tab.run(f"{IN_SURVEY}.querySelector('#item').focus()")
    tab.write(written)
    tab.press("Enter", "\r")
    shown(tab, "Your report has arrived")
    assert (party_of_sets.stored - before).total() == 1
    browser.forget(tab.profile)


def test_a_party_that_is_away_is_told_in_plain_words(site: Site, browser: Chromium, party: PartyOfPages) -> None:
    tab = opened(site, browser, page(party, task="0" * 64))
    assert "makes no sense" in shown(tab, "status 200")
    browser.forget(tab.profile)
    tab = opened(site, browser, page(party, party_name="east"))
    assert "does not answer this survey" in shown(tab, "parties of the task")
    browser.forget(tab.profile)
    tab = opened(site, browser, page(party, server_keys="zz"))
    assert "not set up correctly" in shown(tab, "64 hexadecimal digits")
    browser.forget(tab.profile)


@pytest.mark.parametrize("width", [1280, 390, 320])
@pytest.mark.parametrize("dark", [False, True])
def test_it_fits_every_screen_and_can_be_read(
    site: Site, browser: Chromium, party: PartyOfPages, width: int, dark: bool
) -> None:
    choices = "".join(f"<option>{'wide ' * number}choice</option>" for number in range(1, 9))
    content = page(party, choices)
    site.pages["/survey"] = lambda: content
    tab = browser.tab(site.origin)
    tab.look(width, 900, dark=dark)
    tab.go(f"{site.origin}/survey")
    shown(tab, "Send")
    assert tab.run("document.documentElement.scrollWidth") <= width
    contrast = tab.run(CONTRAST)
    assert contrast["lowest"] >= 4.5, contrast
    browser.forget(tab.profile)


CONTRAST = """
(() => {
  const root = document.querySelector("treetop-survey").shadowRoot;
  const numbers = (colour) => colour.match(/[0-9.]+/g).map(Number);
  const light = (colour) => {
    const linear = (c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    const [r, g, b] = numbers(colour).map((part) => linear(part / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (node) => {
    for (; node; node = node.parentElement) {
      const colour = getComputedStyle(node).backgroundColor;
      if (numbers(colour).length === 3 || numbers(colour)[3] > 0) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const pairs = [...root.querySelectorAll("h2, p, legend, label span, button, .key li")].map((node) => {
    const [one, two] = [light(getComputedStyle(node).color), light(behind(node))];
    return [(Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05), node.textContent.slice(0, 30)];
  });
  const [lowest, where] = pairs.sort((one, two) => one[0] - two[0])[0];
  return { lowest, where, looked: pairs.length };
})()
"""
