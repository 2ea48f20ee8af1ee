"""How long the vectorised device path takes, as a multiple of reading the random bytes that it consumes."""

import os

from benchmarks.measuring import Measured, best_of, ratio
from treetop.adapters.system.host import SystemEntropy
from treetop.adapters.system.vectorised_device import perturbed
from treetop.oracles.registry import find_oracle
from treetop.privacy.budget import Budget

TITLE = "The device path"
LIMIT = 3.0
TIMES = 5
CASES = (
    ("krr", 41, "4", 2_000_000),
    ("krr", 321, "1", 2_000_000),
    ("olh", 41, "4", 2_000_000),
    ("oue", 41, "2", 100_000),
)
CHUNK = 1 << 18


class Counting:
    """The operating system's randomness, counted."""

    def __init__(self) -> None:
        self._entropy, self.taken = SystemEntropy(), 0

    def read(self, count: int) -> bytes:
        self.taken += count
        return self._entropy.read(count)


def read_from_system(count: int) -> None:
    for _ in range(count // CHUNK):
        os.urandom(CHUNK)


def compared(oracle: str, d: int, epsilon: str, reports: int) -> Measured:
    entropy, budget, asked = Counting(), Budget(epsilon), find_oracle(oracle)
    perturbed(asked, 3, d, budget, reports, entropy=entropy)
    reading = best_of(TIMES, lambda: read_from_system(entropy.taken))
    what = f"device path of {oracle}, d = {d}, ε = {epsilon}, {reports:,} reports / reading their random bytes"
    return ratio(what, lambda: perturbed(asked, 3, d, budget, reports, entropy=SystemEntropy()), reading, LIMIT, TIMES)


def measure() -> list[Measured]:
    return [compared(*case) for case in CASES]
