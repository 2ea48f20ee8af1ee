"""How long the vectorised device path takes, as a multiple of reading the random bytes that it consumes."""

import os
from collections.abc import Callable
from time import perf_counter
from typing import NamedTuple

from treetop.adapters.system.entropy import SystemEntropy
from treetop.adapters.system.vectorised_device import perturbed
from treetop.federation.budgets import Budget

LIMIT = 3.0
REPEATS = 5
CASES = (
    ("krr", 41, "4", 2_000_000),
    ("krr", 321, "1", 2_000_000),
    ("olh", 41, "4", 2_000_000),
    ("oue", 41, "2", 100_000),
)
CHUNK = 1 << 18


class Row(NamedTuple):
    """One line of the report."""

    name: str
    measured: float
    limit: float
    passed: bool


class Counting:
    """The operating system's randomness, counted."""

    def __init__(self) -> None:
        self._entropy, self.taken = SystemEntropy(), 0

    def read(self, count: int) -> bytes:
        self.taken += count
        return self._entropy.read(count)


def fastest(work: Callable[[], object]) -> float:
    """Seconds of the best of some runs: what the machine can do when nobody disturbs it."""
    seconds = []
    for _ in range(REPEATS):
        begin = perf_counter()
        work()
        seconds.append(perf_counter() - begin)
    return min(seconds)


def read_from_system(count: int) -> None:
    for _ in range(count // CHUNK):
        os.urandom(CHUNK)


def row(oracle: str, d: int, epsilon: str, reports: int) -> Row:
    entropy, budget = Counting(), Budget(epsilon)
    perturbed(oracle, 3, d, budget, reports, entropy=entropy)
    seconds = fastest(lambda: perturbed(oracle, 3, d, budget, reports, entropy=SystemEntropy()))
    ratio = seconds / fastest(lambda: read_from_system(entropy.taken))
    name = f"{oracle}, d {d}, epsilon {epsilon}: {reports / seconds / 1e6:.1f} M reports/s"
    return Row(
        f"{name}, time over reading {entropy.taken / reports:.0f} random bytes each", ratio, LIMIT, ratio <= LIMIT
    )


def measure() -> list[Row]:
    return [row(*case) for case in CASES]


if __name__ == "__main__":
    for found in measure():
        print(f"{'pass' if found.passed else 'FAIL'}  {found.measured:5.2f}x  (limit {found.limit:g}x)  {found.name}")
