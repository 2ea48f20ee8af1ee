"""Pictures of the survey for the how-to, from the example's own page: `python -m tests.browser.survey_pictures FOLDER`.

Every screen at 1280 and 390 pixels, light and dark; the how-to shows four of them.
"""

import sys
import tempfile
import time
from pathlib import Path

from tests.browser.test_devices_in_chromium import PartyOfPages, open_task
from tests.browser.test_survey_element import IN_SURVEY, shown
from tests.support.chromium import Chromium, Tab
from tests.support.clocks import HandClock
from tests.support.parties import NAME, SIGNING, Hosted, document, live
from tests.support.typescript import ROOT, Site, built, serving

from treetop.adapters.memory.report_store import MemoryReportStore

SCREENS = ((1280, 800), (390, 844))
FRUIT = ("apple", "banana", "cherry", "fig", "grape", "kiwi", "mango", "orange", "peach", "pear", "plum", "quince")


def example(party: PartyOfPages) -> bytes:
    (ticket,) = party.tickets(1)
    page = (ROOT / "examples" / "survey" / "index.html").read_text("utf-8")
    facts = {
        "party": party.url, "party_name": NAME, "task": party.task.digest.hex(), "server_key": SIGNING.public,
        "options": "".join(f"<option>{item}</option>" for item in FRUIT),
    }  # fmt: skip
    for name, value in facts.items():
        page = page.replace(f"{{{name}}}", value)
    page = page.replace('ticket-url="/ticket"', f'ticket="{ticket}"')
    return page.replace("/treetop-survey.js", "/dist/survey.js").encode()


def pictures(tab: Tab, url: str, name: str, folder: Path) -> None:
    tab.go(url)
    shown(tab, "Send")
    tab.run(f"{IN_SURVEY}.querySelector('input[value=plum]').click()")
    keep(tab, folder / f"survey_{name}.png")
    tab.run(f"{IN_SURVEY}.querySelector('button.quiet').click()")
    shown(tab, "It has not left this device yet")
    keep(tab, folder / f"survey_bytes_{name}.png")
    tab.run(f"{IN_SURVEY}.querySelector('button.main').click()")
    shown(tab, "Your report has arrived")
    keep(tab, folder / f"survey_done_{name}.png")


def keep(tab: Tab, file: Path) -> None:
    """Keep a picture of the whole page, however long it is."""
    tab.run("document.activeElement?.shadowRoot?.activeElement?.blur(), scrollTo(0, 0)")
    file.write_bytes(tab.picture())


def main(folder: Path) -> None:
    built()
    task = open_task(name="fruit")
    with serving(Site()) as site, tempfile.TemporaryDirectory() as files, Chromium.started(Path(files)) as browser:
        hosted = Hosted(MemoryReportStore(), HandClock(int(time.time())), allowed_origins=(site.origin,))
        hosted.party.install(document(task))
        with live(hosted.context) as port:
            party = PartyOfPages(site, task, port, hosted)
            for width, height in SCREENS:
                for dark in (False, True):
                    content = example(party)
                    site.pages["/survey"] = lambda content=content: content  # type: ignore[misc]
                    tab = browser.tab(site.origin)
                    tab.look(width, height, dark=dark)
                    pictures(tab, f"{site.origin}/survey", f"{width}_{'dark' if dark else 'light'}", folder)
                    browser.forget(tab.profile)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
