"""How a federation grows: a million users, a hundred parties, fifty queries at once; every process is real.

`treetop up` runs as people run it, on data that are drawn here. Memory, files, threads and processor time are those of
all its processes together. Wall time depends on what else the machine does: processor time is what is compared.

`python -m benchmarks.scale NAME...` runs some of: million, hundred, queries.
"""

import json
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import numpy as np

from benchmarks.measuring import Measured, Row
from benchmarks.process_tree import Taken, WatchedCommand
from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.federation.server.order_json import order_to_json
from treetop.services.local.folder import FederationFolder, secret_in
from treetop.services.local.run import order_of
from treetop.services.server.client import ServerClient

TITLE = "Scale"
LIMITS = """
`treetop up --seed 1` at ε = 4 in one-shot mode (Panorama over 2^24 ids, walsh): a server, the parties, every device's
own code over HTTP, the query and its answer. Items are drawn here (seed 1): 20,000 ids by Zipf's law, half of a party's
users from the common ranking and half from one of its own. Memory and files are the highest of all processes together
at any second, pages that processes share counted once. Processor time is that of all processes from start to end; wall
times are of a machine with two cores that had other work as well, as the load average says.

What limits: **a million users are bound by the devices**, which are simulated here one by one, each with its ledger;
the parties take a quarter of the time. A user costs half of what one of 50,000 costs: starting processes weighs less.
**A hundred parties are bound by memory and by starting fleets.** Every party keeps the support of all 2^24 names
until the query is over, 34 MB each below 65,536 reports, and the server merges some 150,000 names of each of them. More
than eight parties share eight processes, those of one process count one after the other, and eight fleets are at work
together. As a hundred processes of their own, with 1,000 users each, they all counted at the same moment, and were
stopped when 19 GB of a shared machine were gone. **Fifty queries are not bound by the server**, which takes 6 % of the
processor time, a thread for each query and a file for each query and party; the rest are fleets and parties, which
count one query after the other, keep the counts of 16 of them and count the others again.
"""
SEED, ITEMS, EXPONENT = 1, 20_000, 1.1
SMALL, MILLION, HUNDRED = (3, 50_000), (10, 1_000_000), (100, 1_000_000)
"""Parties, and users in all of them."""
QUERIES, OF_QUERIES = 50, (2, 1_000)
GIGABYTE, USUAL_FILES = 10**9, 1_024
WAITING_SECONDS = 3_600.0
Found = TypeVar("Found")


def federation_file(folder: Path, parties: int, users: int) -> Path:
    """Write a federation of equal parties, half of whose users hold what is popular everywhere."""
    draw = np.random.default_rng(SEED)
    shares = 1 / np.arange(1, ITEMS + 1) ** EXPONENT
    shares /= shares.sum()
    ids = draw.choice(10**7, ITEMS, replace=False)
    lines = ["party,item,users"]
    for party in range(parties):
        own = shares[draw.permutation(ITEMS)]
        counts = draw.multinomial(users // parties, (shares + own) / 2)
        lines += [f"party {party + 1},{item},{count}" for item, count in zip(ids, counts, strict=True) if count]
    path = folder / "federation.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def up(folder: Path, parties: int, users: int, *more: str) -> WatchedCommand:
    """Return the command that runs such a federation."""
    data = federation_file(folder, parties, users)
    return WatchedCommand([
        sys.executable, "-m", "treetop", "up", "--data", str(data), "--users", str(users), "--parties", str(parties),
        "--seed", str(SEED), "--epsilon", "4", "--directory", str(folder / "up"), "--json", *more,
    ])  # fmt: skip


def answered(parties: int, users: int) -> tuple[Taken, int]:
    """Return what a federation took until it answered, and the bytes that its folder holds then."""
    with TemporaryDirectory() as name:
        with up(Path(name), parties, users) as command:
            taken = command.end()
        return taken, sum(path.stat().st_size for path in Path(name).rglob("*.sqlite*"))


def conditions() -> str:
    """Say which code was measured."""
    found = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)  # noqa: S607
    return f"Measured at commit {found.stdout.strip() or 'unknown'}."


def rows_of(what: str, taken: Taken, users: int, small: Taken, most_memory: float) -> Iterator[Row]:
    """Say what a federation took, against the small one and against what a machine has."""
    peaks, f1 = taken.peaks, json.loads(taken.output)["truth"]["f1"]
    each, of_small = taken.cpu_seconds / users, small.cpu_seconds / SMALL[1]
    said = f"{what} (F1 {f1:.2f}; {taken.wall_seconds:,.0f} s wall at load {taken.load:.1f})"
    yield Measured(
        f"{said}: processor time a user ({taken.cpu_seconds:,.0f} s in all; parties {peaks.seconds_of('party'):,.0f}, "
        f"devices {peaks.seconds_of('device'):,.0f}, server {peaks.seconds_of('server'):,.0f}) / with {SMALL[1]:,} "
        f"users in {SMALL[0]}",
        each / of_small, None, each, of_small,
    )  # fmt: skip
    memory = peaks.memory / GIGABYTE
    largest = ", ".join(f"{role} {size / 1e6:,.0f} MB" for role, size in sorted(peaks.largest.items()))
    yield Measured(
        f"{what}: highest memory of up to {peaks.processes} processes ({memory:.1f} GB; the largest "
        f"{largest}) / {most_memory:g} GB", memory / most_memory, 1, 0, 0,
    )  # fmt: skip
    most = max(peaks.files.values())
    yield Measured(
        f"{what}: most open files of one process ({most}; {peaks.all_files:,} files and {peaks.threads:,} threads of "
        f"all) / {USUAL_FILES:,}", most / USUAL_FILES, 1, 0, 0,
    )  # fmt: skip


def many_queries() -> Iterator[Row]:
    """Order fifty queries at once and wait for all answers."""
    parties, users = OF_QUERIES
    with TemporaryDirectory() as name, up(Path(name), parties, users, "--stay") as command:
        home = Path(name) / "up"
        server = _waited_for(lambda: _server_that_answered(home))
        folder, before = FederationFolder(home), dict(command.peaks.cpu)
        at_work = command.peaks.seconds_of("server")
        expected = {party: each.users for party, each in folder.parties.items()}
        order = order_to_json(order_of(folder.options, expected, opens=int(time.time())))
        begin = time.monotonic()
        tasks = [server.order({**order, "name": f"query {number}"}) for number in range(QUERIES)]
        taken = time.monotonic() - begin
        _waited_for(lambda: all(server.state(task)["state"] == "answered" for task in tasks) or None)
        seconds = time.monotonic() - begin
        command.interrupt()
        done = command.end()
    peaks = command.peaks
    server_seconds = peaks.seconds_of("server") - at_work
    said = f"{QUERIES} queries at once, {parties} parties with {users // parties} users each"
    yield Measured(
        f"{said} ({seconds:,.0f} s wall at load {done.load:.1f}, {taken:.1f} s until all were taken): processor time "
        f"of the server / of all ({len(peaks.cpu) - len(before)} processes more)",
        server_seconds / done.cpu_seconds, None, server_seconds, done.cpu_seconds,
    )  # fmt: skip
    memory = peaks.largest["server"] / GIGABYTE
    yield Measured(f"{said}: memory of the server ({memory * 1000:,.0f} MB) / 1 GB", memory, 1, 0, 0)
    files = peaks.files["server"]
    yield Measured(f"{said}: open files of the server ({files}) / {USUAL_FILES:,}", files / USUAL_FILES, 1, 0, 0)


def _server_that_answered(home: Path) -> ServerClient | None:
    """Return the server of a folder once its first query is answered."""
    settings = home / "server" / "server.toml"
    if not settings.exists() or (task := FederationFolder(home).task) is None:
        return None
    url = f"http://{tomllib.loads(settings.read_text())['listen']}"
    server = ServerClient(RetryingConnection(url), secret_in(home / "server", "admin"))
    return server if server.state(task)["state"] == "answered" else None


def _waited_for(look: Callable[[], Found | None]) -> Found:
    end = time.monotonic() + WAITING_SECONDS
    while (found := look()) is None:
        if time.monotonic() > end:
            raise TimeoutError(f"nothing came of it within {WAITING_SECONDS:.0f} s")
        time.sleep(1.0)
    return found


def measure(*names: str) -> Iterator[Row]:
    wanted = set(names or ("million", "hundred", "queries"))
    if wanted & {"million", "hundred"}:
        small, _ = answered(*SMALL)
        yield from rows_of("3 parties, 50,000 users", small, SMALL[1], small, 2)
    if "million" in wanted:
        taken, kept = answered(*MILLION)
        yield from rows_of("10 parties, 1,000,000 users", taken, MILLION[1], small, 4)
        yield Measured(
            f"10 parties, 1,000,000 users: bytes a user in all stores when it is over ({kept / MILLION[1]:.0f}) / 1 kB",
            kept / MILLION[1] / 1000, None, 0, 0,
        )  # fmt: skip
    if "hundred" in wanted:
        taken, _ = answered(*HUNDRED)
        yield from rows_of("100 parties, 10,000 users each", taken, HUNDRED[1], small, 12)
    if "queries" in wanted:
        yield from many_queries()


if __name__ == "__main__":
    for row in measure(*sys.argv[1:]):
        print(row, flush=True)
