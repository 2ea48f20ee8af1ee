"""`treetop.perturb` against the device: the same random numbers must give the same reports.

The arrays that it reads are chosen here, so nothing is left to chance: words next to every threshold, and all reports
are compared with those of the device's own face, whose law `oracle_laws` enumerates.
"""

from collections.abc import Sequence
from itertools import cycle, islice
from typing import Any

import numpy as np

from treetop.adapters.system import vectorised_device
from treetop.audit.checks import Check
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.oue import OptimizedUnaryEncoding
from treetop.oracles.protocol import Below, DeviceFace, Oracle, Words
from treetop.oracles.walsh import WalshHashing
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import WORDS

SHIPPED: tuple[Oracle, ...] = (
    KRandomizedResponse(),
    OptimizedUnaryEncoding(),
    OptimizedLocalHashing(),
    WalshHashing(),
)
BUDGETS = tuple(Budget(text) for text in ("0.5", "1", "4"))
SIZES = (2, 4, 8, 64)
REPORTS = 96
STEP = 0x9E3779B1
"""Odd, so that its multiples go through all 32-bit words without an order that a sampler could follow."""


class GivenArrays:
    """Stands in for the operating system: the arrays that a face declares, each in one read and for all reports."""

    def __init__(self, face: DeviceFace) -> None:
        edges = [0, WORDS - 1, *(word for threshold in face.thresholds for word in (threshold - 1, threshold))]
        self._columns: list[list[Any]] = []
        self._bytes: list[bytes] = []
        for number, need in enumerate(face.randomness):
            numbers = np.arange(1 + number, 1 + number + REPORTS, dtype=np.uint64) * np.uint64(STEP)
            narrow = numbers.astype(np.uint32)
            if isinstance(need, Words):
                taken = list(islice(cycle(_mixed(edges)), REPORTS * need.count))
                words = np.array(taken, dtype=np.uint64)
                self._columns.append([tuple(row) for row in words.reshape(REPORTS, need.count).tolist()])
                self._bytes.append(words.tobytes())
            elif isinstance(need, Below):  # multiplied by the bound, the high half is the number
                self._columns.append([int(word) * need.bound >> 32 for word in narrow.tolist()])
                self._bytes.append(narrow.tobytes())
            else:
                self._columns.append(narrow.tolist())
                self._bytes.append(narrow.tobytes())
        self._left = iter(self._bytes)

    def read(self, count: int) -> bytes:
        """Return the next array; zeros where another number of bytes is wanted than the face declares."""
        given = next(self._left, b"")
        return given if len(given) == count else bytes(count)

    @property
    def draws(self) -> list[tuple[Any, ...]]:
        """Return what each device would have drawn."""
        return list(zip(*self._columns, strict=True))


def _mixed(edges: Sequence[int]) -> list[int]:
    """Return the edges in an order in which every one follows every other."""
    return [each for first in edges for second in edges for each in (first, second)]


def differing_reports(oracle: Oracle, budget: Budget, slots: int, value: int) -> int:
    """Return how many reports of `treetop.perturb` are not those of devices with the same random numbers."""
    face = oracle.device(budget, slots) if oracle.listed else oracle.device(budget)
    given = GivenArrays(face)
    module: Any = vectorised_device
    shipped = module.SystemEntropy
    module.SystemEntropy = lambda: given
    try:
        found = module.perturb(oracle, value, slots, budget.text, REPORTS)
    finally:
        module.SystemEntropy = shipped
    rows = list(zip(*found, strict=True)) if isinstance(found, tuple) else np.asarray(found).tolist()
    wanted = [face.report(draw, value) for draw in given.draws]
    return sum(_plain(one) != _plain(other) for one, other in zip(rows, wanted, strict=True))


def _plain(report: Any) -> Any:
    return tuple(map(int, report)) if isinstance(report, list | tuple) else int(report)


def perturb_check() -> Check:
    """Check `treetop.perturb` for every shipped oracle, several budgets, sizes and values."""
    differing = sum(
        differing_reports(oracle, budget, slots, value)
        for oracle in SHIPPED
        for budget in BUDGETS
        for slots in SIZES
        for value in (0, slots - 1)
    )
    claim = "treetop.perturb gives the reports of devices with the same random numbers, next to every threshold too"
    return Check("exact_perturb", differing == 0, claim, differing, 0)
