"""Random histories of a ledger: tasks, retries, restarts, crashes and restored files; the caps hold in all of them."""

from fractions import Fraction

import numpy as np
import pytest

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.errors import BudgetExceeded, LedgerRefused, PromiseBroken
from treetop.federation.device.ledger import Caps, Ledger, LedgerEntry
from treetop.trie.user_groups import Group

CAPS = Caps(Fraction(2), Fraction(5), window=Fraction(5))
COSTS = tuple(Fraction(text) for text in ("0.1", "1/3", "1", "2", "2.5"))


class History:
    """One device's life, with what really went out beside what its ledger says."""

    def __init__(self, seed: int) -> None:
        self.chance = np.random.default_rng(seed)
        self.store, self.counter = MemoryLedger(), MemoryCounter()
        self.ledger = Ledger(self.store, self.counter, CAPS)
        self.backups: list[bytes | None] = []
        self.sent: dict[bytes, set[bytes]] = {}
        self.cost: dict[bytes, Fraction] = {}

    def ask(self) -> None:
        task = bytes([int(self.chance.integers(12))]) * 32
        known = self.ledger.entry(task)
        cost = COSTS[int(self.chance.integers(len(COSTS)))]
        try:
            if known is None:
                self.ledger.reserve(LedgerEntry(task, "favourite", Group(1), bytes(32), cost))
            settled = self.ledger.entry(task)
            assert settled is not None
            sent = settled.sent or self.ledger.settle(task, self.chance.bytes(6)).sent
        except BudgetExceeded:
            return
        assert sent is not None
        self.sent.setdefault(task, set()).add(sent)
        self.cost[task] = settled.epsilon

    def restart(self) -> None:
        self.ledger = Ledger(self.store, self.counter, CAPS)

    def back_up(self) -> None:
        self.backups.append(self.store.load())

    def restore(self) -> None:
        if not self.backups:
            return
        old, now = self.backups[int(self.chance.integers(len(self.backups)))], self.store.load()
        if old == now:
            return
        with pytest.raises(LedgerRefused):
            Ledger(MemoryLedger(old), self.counter, CAPS)

    def twice(self) -> None:
        for task in self.sent:
            with pytest.raises(PromiseBroken):
                self.ledger.settle(task, b"another")

    def check(self) -> None:
        assert all(len(reports) == 1 for reports in self.sent.values())
        assert sum(self.cost.values(), Fraction(0)) <= self.ledger.spent <= CAPS.lifetime
        assert all(cost <= CAPS.per_task for cost in self.cost.values())


def live(seed: int, steps: int) -> None:
    history = History(seed)
    deeds = (history.ask, history.ask, history.ask, history.restart, history.back_up, history.restore, history.twice)
    for _ in range(steps):
        deeds[int(history.chance.integers(len(deeds)))]()
        history.check()


def test_no_history_breaks_the_caps() -> None:
    for seed in range(200):
        live(seed, 25)


@pytest.mark.slow
def test_no_history_of_many_breaks_the_caps() -> None:
    for seed in range(100_000):
        live(seed, 25)
