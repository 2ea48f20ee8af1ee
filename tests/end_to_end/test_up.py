"""`treetop up`: real processes, real sockets, real devices."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.answers import KEYS
from tests.support.hostile_texts import BEYOND_THE_BMP

SMALL = ("--epsilon", "8", "--k", "3", "--seed", "1", "--set", "bits=24")
PARTIES = {"north": 2400, "south": 1600}
SHARES = {"milk": 0.4, "tea": 0.3, "beer": 0.2, "rum": 0.1}
TIMEOUT = 240


@pytest.fixture
def drinks(tmp_path: Path) -> str:
    """Two parties whose favourites nobody can miss."""
    return drinks_of(tmp_path / "drinks.csv", PARTIES)


def drinks_of(path: Path, sizes: dict[str, int]) -> str:
    rows = [
        f"{party},{item},{round(share * users)}" for party, users in sizes.items() for item, share in SHARES.items()
    ]
    path.write_text("\n".join(["party,item,users", *rows]) + "\n")
    return str(path)


def up(directory: Path, *options: str) -> Any:
    done = run("up", "--directory", str(directory), "--json", *options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "treetop", *arguments], capture_output=True, text=True, timeout=TIMEOUT, check=False
    )


@pytest.mark.parametrize("mode", ["one-shot", "rounds"])
def test_a_federation_on_this_machine_answers_and_goes_on(tmp_path: Path, drinks: str, mode: str) -> None:
    answer = up(tmp_path / "up", "--mode", mode, "--data", drinks, *SMALL)
    assert list(answer) == KEYS
    assert answer["mode"] == mode
    assert [row["item"] for row in answer["items"]] == ["milk", "tea", "beer"]
    assert answer["truth"] == {"f1": 1.0, "ncr": 1.0}
    assert answer["seed"] == 1
    assert {party["name"]: party["users"] for party in answer["parties"]} == PARTIES
    assert answer["missing"] == []
    assert answer["fakes_needed"] > 0
    assert "local_reports_lowered" in [note["code"] for note in answer["notes"]]
    assert up(tmp_path / "up") == answer
    refused = run("up", "--directory", str(tmp_path / "up"), "--k", "4")
    assert refused.returncode == 2
    assert "k = 3, found 4" in refused.stderr


@pytest.mark.parametrize("option", ["--catalogue", pytest.param("--word-list", marks=pytest.mark.slow)])
def test_a_list_reaches_parties_and_where_it_is_a_catalogue_devices(tmp_path: Path, drinks: str, option: str) -> None:
    """Items are normalised by devices as the list was; what is on no list is counted, or read from reports."""
    known = tmp_path / "known.txt"
    known.write_text("Milk\nbeer\nwine\n")
    answer = up(tmp_path / "up", "--data", drinks, option, str(known), "--normalise", "casefold", *SMALL[:-2])
    found = {row["item"]: row["source"] for row in answer["items"]}
    if option == "--catalogue":
        assert found.items() >= {"milk": None, "beer": None}.items()
        assert answer["outside"]["share"] == pytest.approx(0.4, abs=4 * answer["outside"]["stderr"])
        assert answer["truth"]["ncr"] == 1.0
    else:
        assert found == {"milk": "listed", "tea": "recovered", "beer": "listed"}
        assert answer["truth"] == {"f1": 1.0, "ncr": 1.0}
        named = {"source": "known.txt", "words": 3, "ordered": False}
        assert named in [choice["parameters"] for choice in answer["choices"]]
    assert up(tmp_path / "up") == answer


def test_users_with_many_items(tmp_path: Path) -> None:
    """Every device holds a set: everybody holds 1, three of five users 2, two of five 3 as well, and each a rarity."""
    rows = ["party,user_id,item"]
    for user in range(1500):
        party, sort = ("north", "south")[user % 2], user % 5
        own = [1, *([2] if sort < 3 else []), *([3] if sort < 2 else []), 1000 + user]
        rows += [f"{party},{user},{item}" for item in [*own, 1]]
    events = tmp_path / "events.csv"
    events.write_text("\n".join(rows) + "\n")
    words = ("--user-column", "user_id", "--items-per-user", "4", "--epsilon", "8", "--k", "3", "--seed", "1")
    answer = up(tmp_path / "up", "--data", str(events), *words)
    assert (answer["items_per_user"], answer["reading"]) == (4, "holders")
    assert [row["item"] for row in answer["items"]] == ["1", "2", "3"]
    for row, holders in zip(answer["items"], (1500, 900, 600), strict=True):
        assert abs(row["count"] - holders) < 6 * row["stderr"]
    assert answer["truth"] == {"f1": 1.0, "ncr": 1.0}
    assert "set_counts" in [choice["code"] for choice in answer["choices"]]
    assert "set_fake_weight" in [choice["code"] for choice in answer["choices"]]
    refused = run("up", "--directory", str(tmp_path / "new"), "--data", str(events))
    assert refused.returncode == 2
    assert "--user-column user_id" in " ".join(refused.stderr.split())


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["one-shot", "rounds"])
def test_parties_and_items_beyond_the_bmp(tmp_path: Path, mode: str) -> None:
    """Names in settings files, arguments, messages, stores and the answer; items that look like markup."""
    held = tmp_path / "held.csv"
    items = {"[/a]b": 700, "\U0001f600": 400}
    rows = [f"{name},{item},{users}" for name in BEYOND_THE_BMP for item, users in items.items()]
    held.write_text("\n".join(["party,item,users", *rows]) + "\n", "utf-8")
    words = ("--epsilon", "8", "--k", "2", "--seed", "1", "--encoding", "text", "--set", "bits=40")
    answer = up(tmp_path / "up", "--mode", mode, "--data", str(held), *words)
    assert [row["item"] for row in answer["items"]] == list(items)
    assert {party["name"] for party in answer["parties"]} == set(BEYOND_THE_BMP)
    shown = run("up", "--directory", str(tmp_path / "up"))
    assert shown.returncode == 0
    assert "[/a]b" in shown.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (("--mode", "shots"), "one-shot"), (("--mechanism", "tapz"), "taps"), (("--epsilon", "x"), "epsilon"),
        (("--parties", "9"), "8 parties"), (("--set", "bitz=3"), "bits"), (("--data", "nothing.csv"), "nothing there"),
    ],
)  # fmt: skip
def test_bad_options_are_refused_before_anything_starts(tmp_path: Path, options: tuple[str, ...], told: str) -> None:
    refused = run("up", "--directory", str(tmp_path / "new"), *options)
    assert refused.returncode == 2
    assert told in refused.stderr
    assert not (tmp_path / "new" / "federation.json").exists()


@contextmanager
def running(directory: Path, *options: str) -> Iterator["subprocess.Popen[str]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "treetop", "up", "--directory", str(directory), "--json", *options],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def children(directory: Path) -> dict[str, int]:
    """The processes of one federation by what they do."""
    found = {}
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().decode().split("\0")
        except OSError:
            continue
        role = words[3] if words[1:3] == ["-m", "treetop"] else ""
        if role in {"server", "party", "device"} and any(str(directory) in word for word in words):
            home = re.search(r"party_[0-9]", " ".join(words))
            found[f"{role} {home[0] if home else ''}".strip()] = int(entry.parent.name)
    return found


KILLED = ("party party_1", "device party_2", "server", "device party_1", "party party_2")
TIMES_LARGER = (1, 8, 64)
"""How many times as many users a federation has that finished before anything in it could be killed."""


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("mode", ["one-shot", "rounds"])
def test_any_process_may_be_killed(tmp_path: Path, mode: str) -> None:
    """On a fast machine a small federation is over before it is hit: a larger one follows until something died."""
    for times in TIMES_LARGER:
        sizes = {party: times * users for party, users in PARTIES.items()}
        home, data = tmp_path / f"up_{times}", drinks_of(tmp_path / f"drinks_{times}.csv", sizes)
        options = ("--mode", mode, "--mechanism", "taps", "--data", data, "--set", "levels=6", *SMALL)
        with running(home, "--users", str(sum(sizes.values())), *options) as process:
            killed = [role for role in KILLED if kill(process, home, role)]
            output, errors = process.communicate(timeout=TIMEOUT)
        assert process.returncode == 0, errors
        answer = json.loads(output)
        assert {party["name"]: party["users"] for party in answer["parties"]} == sizes
        assert answer["missing"] == []
        if revived := errors.count("died and was started again"):
            assert revived >= min(3, len(killed) - 1)  # what had finished need not start again
            return
    raise AssertionError(f"nothing could be killed in federations of up to {sum(sizes.values()):,} users")


def kill(process: subprocess.Popen[str], home: Path, role: str) -> bool:
    """Kill a process of a federation, if it is there before all is over; return whether it was."""
    found = waited_for(process, home, role)
    if found is None or process.poll() is not None:
        return False
    try:
        os.kill(found, signal.SIGKILL)
    except ProcessLookupError:
        return False
    time.sleep(0.5)
    return True


def waited_for(process: subprocess.Popen[str], directory: Path, role: str) -> int | None:
    """Return a process once it is there, None once all is over; a finished fleet cannot be killed any more."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        if process.poll() is not None:
            return None
        found = children(directory)
        if role in found:
            return found[role]
        if role.startswith("device") and "server" in found and time.monotonic() > end - 50:
            return found["server"]
        time.sleep(0.05)
    raise AssertionError(f"no {role} among {children(directory)}")
