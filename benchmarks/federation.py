"""A whole federation on this machine, from its first process to its answer."""

import json
import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory
from time import perf_counter

from benchmarks.measuring import Measured, Row

TITLE = "A federation on one machine"
LIMITS = """`treetop up --seed 1`: a server, three parties, the devices of the first three parties of SYN, the query
and its answer, including the start of every process. Wall time on two cores."""
USERS = {"one-shot": 50_000, "rounds": 10_000}


def measure() -> Iterator[Row]:
    for mode, users in USERS.items():
        seconds, f1 = answered(mode, users)
        limit = 1 if mode == "one-shot" else None
        yield Measured(f"{mode}, {users:,} devices (F1 {f1:.1f}) / 60 s", seconds / 60, limit, seconds, 60)


def answered(mode: str, users: int) -> tuple[float, float]:
    """Return the seconds until there is an answer, and its F1."""
    with TemporaryDirectory() as folder:
        begin = perf_counter()
        command = [
            sys.executable, "-m", "treetop", "up", "--mode", mode, "--users", str(users), "--seed", "1",
            "--epsilon", "4", "--directory", folder, "--json",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, check=True)  # noqa: S603
        return perf_counter() - begin, json.loads(done.stdout)["truth"]["f1"]
