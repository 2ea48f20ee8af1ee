"""`treetop up --carrier flower`: Flower's programs are killed in the middle, and the answer is the same to the byte."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path

from tests.support.flower import ENVIRONMENT, NEEDS_FLOWER

from treetop.adapters.store_choice import open_stores

IN_ALL, A_STEP = 1500, 400
"""Seconds: of the whole, and of one step on a machine that is busy otherwise."""
PARTIES = {"north": 2400, "south": 1600}
SHARES = {"milk": 0.4, "tea": 0.3, "beer": 0.2, "rum": 0.1}
pytestmark = NEEDS_FLOWER


def command(directory: Path, *options: str) -> list[str]:
    return [sys.executable, "-m", "treetop", "up", "--directory", str(directory), "--json", *options]


def asked_for(folder: Path) -> tuple[str, ...]:
    """Return the options of a query with a catalogue, so that a list travels, too."""
    rows = [
        f"{party},{item},{round(share * users)}" for party, users in PARTIES.items() for item, share in SHARES.items()
    ]
    (folder / "drinks.csv").write_text("\n".join(["party,item,users", *rows]) + "\n")
    (folder / "known.txt").write_text("\n".join([*SHARES, "wine"]) + "\n")
    words = ("--catalogue", str(folder / "known.txt"), "--epsilon", "8", "--k", "3", "--seed", "1")
    return (
        "--data",
        str(folder / "drinks.csv"),
        *words,
        "--carrier",
        "flower",
        "--flower-environment",
        str(ENVIRONMENT),
    )


def process_of(directory: Path, program: str, *, of: str = "") -> int | None:
    """Return the process of one of Flower's programs in this directory."""
    for entry in Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        said = [word.decode("utf-8", "replace") for word in words]
        if any(word.endswith(f"/{program}") for word in said[:2]) and any(f"{directory}/{of}" in word for word in said):
            return int(entry.name)
    return None


class Killer:
    """Kills programs of a running federation at moments that its logs show."""

    def __init__(self, directory: Path, up: "subprocess.Popen[str]") -> None:
        self.directory, self._up = directory, up
        self.recovered: dict[str, float] = {}

    def messages(self) -> int:
        """Return how many messages have reached parties."""
        logs = self.directory.glob("party_*/flower/node.log")
        return sum(len(re.findall(r"Receiving: query\.\w+ message", log.read_text(errors="replace"))) for log in logs)

    def wait(self, what: Callable[[], bool]) -> float:
        begun = time.monotonic()
        while not what():
            assert self._up.poll() is None, "it ended before it was killed"
            assert time.monotonic() < begun + A_STEP
            time.sleep(0.2)
        return time.monotonic() - begun

    def kill(self, program: str, *, of: str = "") -> None:
        """Kill a program, and wait until it is there again and another message has arrived."""
        found = process_of(self.directory, program, of=of)
        assert found is not None
        before = self.messages()
        os.kill(found, signal.SIGKILL)
        self.wait(lambda: process_of(self.directory, program, of=of) not in {None, found})
        self.recovered[program] = self.wait(lambda: self.messages() > before + 1)


def round_trips(directory: Path) -> str:
    """Return what the gateway says of its round trips, for the record."""
    settings = tomllib.loads((directory / "flower" / "link.toml").read_text())
    connection = HTTPConnection(settings["gateway"], timeout=30)
    try:
        connection.request("GET", "/v1/health")
        return str(json.loads(connection.getresponse().read())["round_trips"])
    finally:
        connection.close()


def books_of(store: Path) -> dict[str, dict[str, bytes]]:
    """Return all that a store's journal holds."""
    reports, journal = open_stores(str(store))
    try:
        return {book: dict(journal.read(book)) for book in journal.books()}
    finally:
        reports.close()


def outcomes(store: Path, prefix: str) -> dict[str, bytes]:
    """Return what the one book whose name begins so says of outcomes and of the result."""
    ((_, book),) = [each for each in books_of(store).items() if each[0].startswith(prefix)]
    return {entry: content for entry, content in book.items() if entry == "result" or entry.startswith("outcome:")}


def forget_the_dialogue(store: Path) -> None:
    """Leave a server's journal as it was when the query was ordered: lists and orders alone."""
    books = books_of(store)
    for path in store.parent.glob(f"{store.name}*"):
        path.unlink()
    reports, journal = open_stores(str(store))
    for book, entries in books.items():
        for entry, content in entries.items() if not book.startswith("server:") else ():
            journal.write(book, entry, content)
    reports.close()


def test_superlink_run_and_node_are_killed_and_the_bytes_are_the_same(tmp_path: Path) -> None:
    directory = tmp_path / "up"
    with (tmp_path / "said").open("w") as said:
        up = subprocess.Popen(command(directory, *asked_for(tmp_path)), stdout=subprocess.PIPE, stderr=said, text=True)
        try:
            killer = Killer(directory, up)
            killer.wait(lambda: killer.messages() >= 1)
            killer.kill("flower-superlink")
            killer.kill("flwr-serverapp")
            killer.kill("flower-supernode", of="party_2_south")
            times = round_trips(directory)
            written, _ = up.communicate(timeout=IN_ALL)
        finally:
            up.terminate()
            up.wait(120)
    assert up.returncode == 0, (tmp_path / "said").read_text()
    answer = json.loads(written)
    print(f"seconds to recover: {killer.recovered}; messages: {killer.messages()}; the last run: {times}")
    assert [row["item"] for row in answer["items"]] == ["milk", "tea", "beer"]
    assert {party["name"]: party["users"] for party in answer["parties"]} == PARTIES
    assert answer["missing"] == []

    journal = directory / "server" / "journal.sqlite"
    heard = outcomes(journal, "server:")
    for home in directory.glob("party_*"):
        name = home.name.rpartition("_")[2]
        said_by = outcomes(home / "reports.sqlite", "party:")
        assert len(said_by) >= 2
        assert said_by == {entry.replace(f":{name}", ""): told for entry, told in heard.items() if f":{name}:" in entry}

    forget_the_dialogue(journal)
    again = subprocess.run(command(directory), capture_output=True, text=True, timeout=IN_ALL, check=False)
    assert again.returncode == 0, again.stderr
    assert json.loads(again.stdout) == answer
    assert outcomes(journal, "server:") == heard  # over plain HTTP, every reply and the result to the byte


def test_no_secret_is_left_in_what_flower_writes(tmp_path: Path) -> None:
    """The server's key for a party travels, and is in no log; nothing is readable for others."""
    directory = tmp_path / "up"
    done = subprocess.run(
        command(directory, *asked_for(tmp_path)), capture_output=True, text=True, timeout=IN_ALL, check=False
    )
    assert done.returncode == 0, done.stderr
    keys = [path.read_text().strip() for path in directory.glob("party_*/server.key")]
    assert len(keys) == len(PARTIES)
    flowers = [directory / "flower", *directory.glob("party_*/flower")]
    logs = [path for folder in flowers for path in folder.rglob("*.log")]
    assert len(logs) >= 5
    for path in logs:
        assert not any(key in path.read_text(errors="replace") for key in keys), path
    files = [path for folder in flowers for path in folder.rglob("*") if not path.is_symlink()]
    assert [path for path in files if path.stat().st_mode & 0o077] == []
