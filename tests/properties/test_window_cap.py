"""Whatever is asked and however the clock jumps, no window of a ledger holds more than its owner allows."""

from dataclasses import dataclass
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.campaigns import STARTS, SetClock, campaign, weekly
from tests.support.fixed_entropy import FixedEntropy
from tests.support.tasks import task

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.errors import BudgetExceeded, PeerViolation, PromiseBroken
from treetop.federation.campaign import DAY
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Caps, Ledger


@dataclass(frozen=True)
class Asked:
    """One question, after the clock was set; a week of a campaign, or a task of its own."""

    days: int
    """Added to the clock, or taken from it."""
    epsilon: str
    name: str
    place: tuple[int, int] | None


EPSILONS = st.sampled_from(["0.001", "0.3", "1", "2", "3.999", "4"])
QUESTIONS = st.builds(
    Asked, st.integers(-200, 200), EPSILONS, st.sampled_from("abcd"),
    st.none() | st.tuples(st.integers(0, 1), st.integers(0, 2)),
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(QUESTIONS, max_size=25), st.integers(0, 1000))
def test_no_window_is_ever_overdrawn(asked: list[Asked], seed: int) -> None:
    store, counter, clock = MemoryLedger(), MemoryCounter(), SetClock(STARTS + 1000 * DAY)
    caps = Caps(lifetime=Fraction(12))
    reports: dict[bytes, bytes] = {}
    for number, each in enumerate(asked):
        clock.time = max(0, clock.time + each.days * DAY)
        ledger = Ledger(store, counter, caps, clock)
        device = Device(lambda: 77, FixedEntropy(1000 * seed + number), ledger)
        about = None if each.place is None else campaign(each.epsilon, each.name)
        of = task("olh", each.epsilon, each.name) if about is None else weekly(about, *(each.place or (0, 0)))
        try:
            report = device.answer_once(of, about)
            assert reports.setdefault(of.digest, report) == report
        except (BudgetExceeded, PeerViolation, PromiseBroken):
            pass
        again = Ledger(store, counter, caps, clock)
        assert again.spent <= caps.lifetime
        times = [charge.time for charge in again.charges]
        for last in times:
            within = [one for one in again.charges if last - caps.window_seconds < one.time <= last]
            assert sum((one.epsilon for one in within), Fraction(0)) <= caps.window
        cycles = [entry.cycle for entry in again.entries if entry.cycle is not None]
        assert len(set(cycles)) == len(cycles)
        assert len(again.slots) == len({(slot.campaign, slot.cycle) for slot in again.slots})
