"""Every page in a real browser during a real `treetop up`: order, watch, kill a party in the middle, answer, export."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.support.chromium import Chromium, Tab
from tests.support.page_checks import stand

from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.services.server.client import ServerClient

SHARES = {"milk": 0.4, "tea": 0.3, "beer": 0.2, "rum": 0.1}
SIZES = {"north": 1200, "south": 800}
FIGURES = os.environ.get("TREETOP_FIGURES")
"""Where screenshots go, if somebody wants them."""
START_SECONDS = 180


@dataclass
class Up:
    """A federation on this machine that stays."""

    process: "subprocess.Popen[str]"
    folder: Path
    base: str

    @property
    def admin_key(self) -> str:
        return (self.folder / "server" / "admin.key").read_text().strip()

    def party(self, name: str) -> tuple[str, str, Path]:
        """Return the address of a party, the key of its back end, and its folder."""
        (home,) = self.folder.glob(f"party_*_{name}")
        listen = re.search(r'listen = "([^"]+)"', (home / "party.toml").read_text())
        assert listen
        return f"http://{listen[1]}", (home / "back_end.key").read_text().strip(), home

    def process_of(self, settings: Path) -> int:
        """Return the process of this federation that serves a settings file."""
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                command = (entry / "cmdline").read_bytes().split(b"\0")
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            if str(settings).encode() in command and parent == self.process.pid:
                return int(entry.name)
        raise AssertionError(settings)


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    folder = tmp_path_factory.mktemp("page")
    rows = [
        f"{party},{item},{round(share * users)}" for party, users in SIZES.items() for item, share in SHARES.items()
    ]
    (folder / "drinks.csv").write_text("\n".join(["party,item,users", *rows]) + "\n")
    log = (folder / "log.txt").open("w")
    process = subprocess.Popen(
        [sys.executable, "-m", "treetop", "up", "--data", str(folder / "drinks.csv"), "--mechanism", "canopy",
         "--encoding", "hashed", "--set", "bits=16", "--epsilon", "8", "--k", "3", "--seed", "1", "--stay",
         "--directory", str(folder / "up")],
        stdout=log, stderr=log, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        end = time.monotonic() + START_SECONDS
        while not (said := re.search(r"page: (http://\S+)/page/", (folder / "log.txt").read_text())):
            assert process.poll() is None, (folder / "log.txt").read_text()
            assert time.monotonic() < end
            time.sleep(0.1)
        yield Up(process, folder / "up", said[1])
    finally:
        process.terminate()
        process.wait(180)
        log.close()
    assert process.returncode in (0, 130), (folder / "log.txt").read_text()  # 130: it was ended before it had answered


def logged_in(browser: Chromium, base: str, key: str) -> Tab:
    """Log in as a person does, with the keyboard alone."""
    tab = browser.tab(f"{base}/page/")
    tab.watch()
    tab.wait_for("document.activeElement && document.activeElement.id === 'key'")
    tab.write(key)
    tab.press("Enter", "\r")
    tab.wait_for("location.pathname === '/page/' && document.querySelector('h1')")
    return tab


def shown(tab: Tab, text: str, seconds: float = START_SECONDS) -> None:
    tab.wait_for(f"document.querySelector('main').innerText.includes({json.dumps(text)})", seconds)


def order(up: Up, **changes: object) -> str:
    now = int(time.time())
    client = ServerClient(RetryingConnection(up.base), up.admin_key)
    try:
        return client.order({
            "name": "drinks once more", "attribute": "drink", "k": 3, "epsilon": "8", "mechanism": "canopy",
            "encoding": "hashed", "settings": {"bits": "16", "step_bits": "8"}, "expected": SIZES,
            "deadlines": {"opens": now - 60, "enrolment": now + 3600, "reports": now + 7200, "level_seconds": 600},
            "least": {"estimate": 50, "validation": 50}, **changes,
        })  # fmt: skip
    finally:
        client.close()


def figures() -> Path | None:
    if FIGURES is None:
        return None
    Path(FIGURES).mkdir(exist_ok=True, parents=True)
    return Path(FIGURES)


def test_a_person_follows_a_query_through_the_death_of_a_party_to_its_answer(browser: Chromium, up: Up) -> None:
    tab = logged_in(browser, up.base, up.admin_key)
    shown(tab, "drinks.csv on this machine")
    shown(tab, "reachable")
    stand(tab, up.base, figures(), "overview")
    shown(tab, "answered")
    _, _, home = up.party("north")
    north = up.process_of(home / "party.toml")
    os.kill(north, signal.SIGSTOP)
    try:
        task = order(up)
        tab.go(f"{up.base}/page/queries/{task}")
        shown(tab, "Waiting for reports of the devices of north and south.")
        shown(tab, "does not answer (TimeoutError)")
        stand(tab, up.base, figures(), "query_running")
    finally:
        os.kill(north, signal.SIGKILL)
    tab.wait_for("document.querySelector('main').innerText.includes('Take it along')", START_SECONDS)  # by itself
    shown(tab, "of 1,200")
    stand(tab, up.base, figures(), "query_answered")
    for kind, begin in {"json": "{", "csv": '"', "svg": "<svg", "parquet": "PAR1"}.items():
        fetched = tab.run(f"fetch('/page/queries/{task}/answer.{kind}').then((found) => found.text())")
        assert fetched.startswith(begin), (kind, fetched[:80])
    tab.go(f"{up.base}/page/queries/{task}/answer")
    stand(tab, up.base, figures(), "sign_off")
    tab.go(f"{up.base}/page/queries/{task}/tree")
    tab.run(
        "document.querySelector('#tree a').dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))"
    )
    shown(tab, "Whole tree")
    stand(tab, up.base)
    browser.forget(tab.profile)


def test_the_log_is_checked_by_the_command_that_it_shows(browser: Chromium, up: Up) -> None:
    tab = logged_in(browser, up.base, up.admin_key)
    tab.go(f"{up.base}/page/log")
    stand(tab, up.base, figures(), "log")
    tab.click('main a[href*="/log/"]')
    tab.wait_for("document.querySelector('#check')")
    stand(tab, up.base, figures(), "signed")
    words = tab.run("document.querySelector('#check').textContent").split()
    checked = subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, timeout=120, check=False)
    assert checked.returncode == 0, checked.stderr
    assert "signed by a key that is believed" in checked.stdout
    browser.forget(tab.profile)


def test_a_partys_own_people_see_numbers(browser: Chromium, up: Up) -> None:
    base, key, _ = up.party("south")
    tab = logged_in(browser, base, key)
    shown(tab, "Reports by hour")
    shown(tab, "Tickets")
    stand(tab, base, figures(), "party")
    tab.click("nav button")
    tab.wait_for("document.querySelector('#key')")
    stand(tab, base, figures(), "login")
    browser.forget(tab.profile)
