"""The simulator and the form of a new query in a real browser, by keyboard, without another host or a complaint."""

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.browser.test_page import figures, logged_in, shown
from tests.support.chromium import Chromium, Tab
from tests.support.page_checks import stand
from tests.support.parties import served
from tests.support.servers import ADMIN_KEY, HostedServer, server_settings

from treetop.adapters.system.telemetry import StructuredLog
from treetop.datasets.loading import load
from treetop.services.server.app import server_app
from treetop.web.server_pages import server_pages
from treetop.web.simulator import ByAddress, simulator_app

DRINKS = {"harbour": {"chai": 9000, "cocoa": 2000, "mate": 700}, "market": {"chai": 5000, "latte": 3000}}
LIST = "chai\ncocoa\nlatte\nmate\nwater"
ENTRANCE = ByAddress()


@pytest.fixture(scope="module")
def simulator(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = tmp_path_factory.mktemp("simulator") / "drinks.csv"
    rows = [f"{party},{item},{users}" for party, held in DRINKS.items() for item, users in held.items()]
    file.write_text("\n".join(["party,item,users", *rows]) + "\n")
    with served(simulator_app(load(file), [file.name], StructuredLog(), ENTRANCE)) as port:
        yield f"http://127.0.0.1:{port}"


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[HostedServer, str]]:
    hosted = HostedServer()
    with served(server_app(hosted.context, server_pages(hosted.context, server_settings()))) as port:
        yield hosted, f"http://127.0.0.1:{port}"
    hosted.queries.stop()


def fill(tab: Tab, **fields: str) -> None:
    """Write into fields as a person does: the page hears of every change."""
    for name, value in fields.items():
        tab.run(
            f"(() => {{ const field = document.querySelector('#{name}'); field.value = {json.dumps(value)};"
            "field.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )


def choose_file(tab: Tab, path: Path) -> None:
    found = tab.call("Runtime.evaluate", expression="document.querySelector('#list_file')")["result"]["objectId"]
    tab.call("DOM.setFileInputFiles", files=[str(path)], objectId=found)


def test_a_newcomer_plays_with_epsilon(browser: Chromium, simulator: str, tmp_path: Path) -> None:
    tab = browser.tab("data:text/html,")
    tab.watch()
    tab.go(f"{simulator}{ENTRANCE.path}")
    shown(tab, "right at most 89 times in 100")
    tab.run("document.querySelector('details').open = true")
    (tmp_path / "items.txt").write_text(LIST)
    choose_file(tab, tmp_path / "items.txt")
    fill(tab, list_kind="catalogue", k="3")
    shown(tab, "--k 3 --epsilon 2 --catalogue items.txt")
    tab.run("document.querySelector('#epsilon').focus()")
    for _ in range(10):
        tab.press("ArrowRight")
    shown(tab, "--epsilon 3 ")
    shown(tab, "Simulated answer")  # at the end of a move, without a button
    shown(tab, "Where the items live")
    stand(tab, simulator, figures(), "simulator")
    tab.click(".exports .button")
    tab.wait_for("document.querySelector('.sheet')")
    shown(tab, "Nobody was asked")
    stand(tab, simulator, figures(), "simulated_sign_off")
    assert pages_of(tab) == 1
    browser.forget(tab.profile)


def pages_of(tab: Tab) -> int:
    """Return on how many sheets of A4 a page is printed."""
    printed = tab.call("Page.printToPDF", preferCSSPageSize=True, printBackground=True, transferMode="ReturnAsStream")
    whole = b""
    while True:
        part = tab.call("IO.read", handle=printed["stream"])
        data = part["data"]
        whole += base64.b64decode(data) if part["base64Encoded"] else data.encode()
        if part["eof"]:
            break
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", whole))


def test_mechanisms_stand_side_by_side(browser: Chromium, simulator: str) -> None:
    tab = browser.tab("data:text/html,")
    tab.watch()
    tab.go(f"{simulator}{ENTRANCE.path}")
    shown(tab, "right at most 89 times in 100")
    fill(tab, k="2", repeats="2")
    tab.run(
        "document.querySelectorAll('[name=mechanisms]').forEach((box) => { box.checked = box.value !== 'panorama'; })"
    )
    tab.click("button[value=compare]")
    shown(tab, "Mechanisms side by side")
    shown(tab, "treetop evaluate drinks.csv")
    stand(tab, simulator, figures(), "comparison")
    fill(tab, k="99")
    tab.click("button[value=find]")
    tab.wait_for("document.querySelector('#outcome .notice.bad')")
    stand(tab, simulator)
    browser.forget(tab.profile)


def test_an_analyst_orders_a_query(browser: Chromium, server: tuple[HostedServer, str]) -> None:
    hosted, base = server
    tab = logged_in(browser, base, ADMIN_KEY)
    tab.click('nav a[href$="/new"]')
    shown(tab, "a plan needs the users of every party that is asked, found none for 'north'")
    tab.run("document.querySelectorAll('.party input[type=number]').forEach((field) => { field.value = 9000; })")
    fill(tab, name="drinks <b>", listed=LIST, list_kind="catalogue", k="3")
    shown(tab, "one report of about")
    shown(tab, "--name 'drinks <b>' --k 3 --epsilon 2 --catalogue items.txt")
    stand(tab, base, figures(), "new_query")
    tab.click("#question button")
    tab.wait_for("location.pathname.startsWith('/page/queries/')")
    shown(tab, "drinks <b>")
    (query,) = hosted.queries.states()
    assert query.name == "drinks <b>"
    tab.wait_for("document.querySelector('[data-over]')")  # the page loads itself once more when the query has ended
    stand(tab, base)
    browser.forget(tab.profile)
