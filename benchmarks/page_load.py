"""What pages cost: their first byte against a health check's, and fifty open ones against a party's or server's intake.

A real `treetop server` and `treetop party` on loopback, with a query that was answered and one that runs.
"""

import os
import re
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from time import perf_counter
from urllib.parse import urlencode

from tests.support.running_federation import RunningFederation, key_of

from benchmarks.measuring import Measured, Row, best_of_each, cpu_seconds_of

TITLE = "Pages"
LIMITS = """
First bytes are wall times on an open connection, the best of forty tries, each against the health check of the same
process. A browser keeps files, so a page costs what its own request costs. Fifty open pages ask as fifty browsers do:
the server's follow a query (one event stream each, parties every 3 s, steps every 5 s), the party's ask for its numbers
every 5 s; the ratio is the CPU time of the serving process to the time that passed, less what it uses with no page
open. A tenth of a core is a tenth of what the process can take in.
"""
PAGES, OPEN_SECONDS, TRIES = 50, 20.0, 40
SIZES = {"north": 1200, "south": 800}


class Person:
    """Somebody who is logged in, on one connection that stays open."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port, timeout=60)
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        self._connection.request("POST", "/page/login", urlencode({"key": key}), form)
        reply = self._connection.getresponse()
        reply.read()
        assert reply.status == 303, reply.status
        self._headers = {"Cookie": str(reply.getheader("set-cookie")).partition(";")[0]}

    def first_byte(self, path: str, **more: str) -> bytes:
        """Ask, and read all of it; `getresponse` returns with the first bytes."""
        self._connection.request("GET", path, headers={**self._headers, **more})
        reply = self._connection.getresponse()
        body = reply.read()
        assert reply.status == 200, (path, reply.status)
        return body

    def stream(self, path: str) -> None:
        """Open a stream, and read what comes first."""
        self._connection.request("GET", path, headers=self._headers)
        assert self._connection.getresponse().readline().startswith(b"retry")


def first_bytes(port: int, key: str, paths: Mapping[str, str]) -> Iterator[Row]:
    person = Person(port, key)
    for name, path in paths.items():
        health, page = best_of_each(
            TRIES, lambda: person.first_byte("/v1/health"), partial(person.first_byte, path), clock=perf_counter
        )
        yield Measured(f"first byte of {name} / of a health check, wall", page / health, 3, page, health)


def opened(port: int, key: str, polls: Mapping[str, float], stream: str | None, done: Event) -> None:
    """Be one open page until it is closed."""
    asking, following = Person(port, key), Person(port, key) if stream else None
    if following is not None and stream is not None:
        following.stream(stream)
    due = dict.fromkeys(polls, time.monotonic())
    while not done.wait(0.05):
        for path, every in polls.items():
            if time.monotonic() >= due[path]:
                due[path] += every
                asking.first_byte(path, **{"HX-Request": "true"})


def cost(what: str, pid: int, port: int, key: str, *, polls: Mapping[str, float], stream: str | None = None) -> Row:
    """Measure the CPU time of a process with fifty pages open, less that without."""
    begin = cpu_seconds_of(pid)
    time.sleep(OPEN_SECONDS / 4)
    idle = 4 * (cpu_seconds_of(pid) - begin)
    done = Event()
    with ThreadPoolExecutor(PAGES) as pool:
        pages = [pool.submit(opened, port, key, polls, stream, done) for _ in range(PAGES)]
        time.sleep(3)  # logins are over
        begin, start = cpu_seconds_of(pid), time.monotonic()
        time.sleep(OPEN_SECONDS)
        used, passed = cpu_seconds_of(pid) - begin, time.monotonic() - start
        done.set()
        for page in pages:
            page.result()
    return Measured(
        f"{PAGES} open pages of {what}, CPU / a core's time", (used - idle) / passed, 0.1, used - idle, passed
    )


def measure() -> Iterator[Row]:
    os.umask(0o077)  # secrets in open files are refused
    with TemporaryDirectory() as name:
        running = RunningFederation(Path(name), SIZES)
        with running.processes:
            running.start()
            with ThreadPoolExecutor(2) as pool:
                task = running.order(mechanism="canopy")
                for played in running.play_all(pool, task):
                    played.result()
            running.result(task)
            waiting = running.order(mechanism="canopy", name="one that waits")
            port, north = running.ports["server"], running.ports["north"]
            admin, back_end = key_of("admin"), key_of("back-end")
            person = Person(port, admin)
            assert re.search(b"answered", person.first_byte(f"/page/queries/{task}"))
            query = f"/page/queries/{waiting}"
            yield from first_bytes(port, admin, {
                "the overview": "/page/", "a running query": query, "its progress": f"{query}/progress",
                "its parties": f"{query}/standing", "an answered query": f"/page/queries/{task}",
                "the log": "/page/log", "a task's log": f"/page/log/{task}", "a new query": "/page/new",
            })  # fmt: skip
            yield from first_bytes(north, back_end, {"a party's page": "/page/"})
            polls = {f"{query}/standing": 3.0, f"{query}/progress": 5.0}
            yield cost("a server", running.server.process.pid, port, admin, polls=polls, stream=f"{query}/events")
            yield cost("a party", running.parties["north"].process.pid, north, back_end, polls={"/page/": 5.0})
