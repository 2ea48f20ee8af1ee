"""A whole cycle of a campaign: what its weeks show together, for any values that a device holds in them.

The law of two weeks is enumerated through the whole device: every sequence of values, every week that may be drawn,
every random word. The rules around it (one week for each cycle, a window that no clock resets) are checked on running
devices.
"""

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.adapters.system.host import SystemEntropy
from treetop.audit.checks import Check, Odds, largest_odds, within
from treetop.audit.chosen_inputs import (
    ENROLMENT,
    FIRST,
    SECOND,
    Audited,
    DeviceFactory,
    Exhausted,
    ScriptedEntropy,
    audited,
    word,
)
from treetop.audit.empirical_epsilon import Counts, epsilon_bound
from treetop.audit.oracle_laws import edges
from treetop.errors import BudgetExceeded, NotMyWeek, TreetopError
from treetop.federation.campaign import DAY, Campaign, template_of
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Caps, Ledger
from treetop.federation.ports import Clock, CounterStore, LedgerStore
from treetop.federation.task import Deadlines
from treetop.federation.wire.report_batches import decoded_batch
from treetop.oracles.krr import KRandomizedResponse
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import WORD_BYTES, WORDS, Entropy

STARTS = 1_700_000_000
BUDGETS = Budget("1"), Budget("4")
LedgerFactory = Callable[[LedgerStore, CounterStore, Caps, Clock], Ledger]


@dataclass
class AuditClock:
    """A clock that the auditor sets."""

    time: int = STARTS

    def now(self) -> int:
        """Return what it was set to."""
        return self.time


def campaign_of(budget: Budget, weeks: int = 2, cycles: int = 1) -> Campaign:
    """Return a campaign over two candidates and the dummy, in rounds: a level of one bit."""
    return Campaign(template_of(audited(KRandomizedResponse(), budget, 1).task), STARTS, weeks=weeks, cycles=cycles)


def week_of(campaign: Campaign, cycle: int, week: int, number: int = 0) -> Audited:
    """Return the question of a week: an honest server asks number 0 only, others are tasks of the same week."""
    asked = audited(KRandomizedResponse(), campaign.budget, 1)
    opens = campaign.opens(cycle, week) + number
    ends = campaign.ends(cycle, week)
    task = replace(
        campaign.template,
        name=campaign.task_name(cycle, week),
        campaign=campaign.week(cycle, week),
        deadlines=Deadlines(opens, ends, ends),
    )
    return Audited(task, replace(asked.question, task=task.digest), asked.published)


class CampaignDevice:
    """A device that restarts for every question, and whose owner may hold another value every week."""

    def __init__(
        self, entropy: Entropy, caps: Caps, factory: DeviceFactory = Device, ledger: LedgerFactory = Ledger
    ) -> None:
        self._entropy = entropy
        self._caps = caps
        self._factory = factory
        self._open = ledger
        self._store = MemoryLedger()
        self._counter = MemoryCounter()
        self.clock = AuditClock()

    @property
    def ledger(self) -> Ledger:
        """Return the ledger, as after a restart."""
        return self._open(self._store, self._counter, self._caps, self.clock)

    def answer(self, campaign: Campaign, cycle: int, week: int, value: int | None, number: int = 0) -> Hashable:
        """Return what the party sees of a task of a week: the bytes of a report, a public code, or nothing."""
        asked = week_of(campaign, cycle, week, number)
        device = self._factory(lambda: value, self._entropy, self.ledger)
        self.clock.time = campaign.opens(cycle, week)
        try:
            return device.answer(asked.task, ENROLMENT, asked.question, asked.published, campaign)
        except (NotMyWeek, BudgetExceeded) as refused:
            return refused.code
        except TreetopError:
            return "nothing"

    def look(self, campaign: Campaign, cycle: int, week: int) -> None:
        """Check a week's task and disappear before answering it."""
        self.clock.time = campaign.opens(cycle, week)
        try:
            device = self._factory(lambda: FIRST, self._entropy, self.ledger)
            device.check_allowed(week_of(campaign, cycle, week).task, campaign)
        except TreetopError:
            return


def _caps(budget: Budget, cycles: int = 1) -> Caps:
    total = budget.amount * cycles
    return Caps(budget.amount, total, least_slots=3, window=total)


def cycle_law(
    campaign: Campaign, values: Sequence[int | None], factory: DeviceFactory = Device
) -> dict[Hashable, Fraction]:
    """Return the probability of everything that a party may see in a cycle, when the weeks have these values."""
    law: dict[Hashable, Fraction] = {}
    # A read of one byte chooses among two, the week or the lie, by its last bit. A read of eight bytes is the word that
    # is compared with the threshold.
    words = [(word(first), Fraction(end - first, WORDS)) for first, end in edges(week_of(campaign, 0, 0).face)]
    choices = {1: [(bytes([last]), Fraction(1, 2)) for last in range(2)], WORD_BYTES: words}
    waiting = [(b"", Fraction(1))]
    while waiting:
        script, chance = waiting.pop()
        device = CampaignDevice(ScriptedEntropy(script), _caps(campaign.budget), factory)
        try:
            seen = tuple(device.answer(campaign, 0, week, value) for week, value in enumerate(values))
        except Exhausted as more:  # branch: once for each way that the next read may go
            waiting += [(script + taken, chance * part) for taken, part in choices[more.args[0]]]
        else:
            law[seen] = law.get(seen, Fraction(0)) + chance
    return law


def worst_odds(campaign: Campaign, factory: DeviceFactory = Device) -> Odds:
    """Return the largest ratio over every two sequences of values and everything that a party may see of a cycle."""
    values = week_of(campaign, 0, 0).values
    laws = [cycle_law(campaign, sequence, factory) for sequence in product(values, repeat=campaign.weeks)]
    seen = {output for law in laws for output in law}
    return largest_odds([law.get(output, Fraction(0)) for law in laws] for output in seen)


def cycle_law_check(factory: DeviceFactory = Device) -> Check:
    """Check the law of a cycle of two weeks, for all sequences of values."""
    cases = [(budget, worst_odds(campaign_of(budget), factory)) for budget in BUDGETS]
    claim = (
        "reports and codes of both weeks of a cycle are never more than e^epsilon likelier for one sequence of values"
    )
    return within("exact_campaign", claim, cases)


def one_week_check(devices: int, factory: DeviceFactory = Device, ledger: LedgerFactory = Ledger) -> Check:
    """Check that a cycle has one week, even if weeks are missed or asked about again, and that it costs once."""
    campaign = campaign_of(Budget("1"), weeks=3, cycles=2)
    wrong = 0
    for _ in range(devices):
        device = CampaignDevice(SystemEntropy(), _caps(campaign.budget, campaign.cycles), factory, ledger)
        for cycle in range(campaign.cycles):
            drawn = set[int]()
            reports = set[Hashable]()
            for week in range(campaign.weeks):
                device.look(campaign, cycle, week)
                drawn |= {slot.slot for slot in device.ledger.slots if slot.cycle == cycle}
                if week % 2:  # the first and the last week are missed
                    reports |= {device.answer(campaign, cycle, week, FIRST, number) for number in (0, 0, 1, 2)}
            answered = [seen for seen in reports if isinstance(seen, bytes)]
            wrong += len(drawn) != 1 or len(answered) != (drawn == {1})
        wrong += device.ledger.spent != campaign.budget.amount * campaign.cycles
    claim = (
        f"{devices:,} devices, weeks missed and asked about again, also by other tasks of the same week: a week and a "
        "report for each cycle, never drawn anew"
    )
    return Check("campaign_one_week", wrong == 0, claim, wrong, 0)


def window_check(ledger: LedgerFactory = Ledger) -> Check:
    """Check that a clock which is set back, and forth again, gives back nothing of a window."""
    campaign = campaign_of(Budget("2"))
    wrong = 0
    caps = Caps(Fraction(2), Fraction(100), least_slots=3, window=Fraction(4))
    for back in (1, DAY, caps.window_seconds, 2 * caps.window_seconds):
        device = CampaignDevice(SystemEntropy(), caps, ledger=ledger)
        now = STARTS + caps.window_seconds
        for index, time in enumerate((now, now - back, now, now - back, now + caps.window_seconds - 1)):
            device.clock.time = time
            try:
                taken = audited(KRandomizedResponse(), campaign.budget, 1).named(f"task {index}")
                taken.answer(Device(lambda: FIRST, SystemEntropy(), device.ledger))
            except BudgetExceeded:
                wrong += index < 2  # a window of 4 has room for two tasks of epsilon 2
            else:
                wrong += index >= 2
    claim = "within a window nothing more is spent after the clock was set back, and forth again"
    return Check("campaign_window", wrong == 0, claim, wrong, 0)


def caps_check(factory: DeviceFactory = Device, ledger: LedgerFactory = Ledger) -> Check:
    """Check that a campaign costs no more than the owner allows, however many cycles it has."""
    cycles = 5
    wrong = 0
    campaign = campaign_of(Budget("1"), cycles=cycles)
    for per_task, lifetime, window, begun in ((1, 3, 9, 3), (1, 9, 2, 2), (Fraction(1, 2), 9, 9, 0), (1, 9, 9, cycles)):
        # All five cycles lie within one window of 84 days.
        caps = Caps(Fraction(per_task), Fraction(lifetime), least_slots=3, window=Fraction(window))
        device = CampaignDevice(SystemEntropy(), caps, factory, ledger)
        weeks = product(range(cycles), range(campaign.weeks))
        seen = [device.answer(campaign, cycle, week, FIRST) for cycle, week in weeks]
        wrong += sum(isinstance(each, bytes) for each in seen) != begun
        wrong += device.ledger.spent != campaign.budget.amount * begun
    claim = f"a campaign of {cycles} cycles is answered in as many as caps for a task, a window and a lifetime allow"
    return Check("campaign_caps", wrong == 0, claim, wrong, 0)


def cycle_loss_check(trials: int, factory: DeviceFactory = Device) -> Check:
    """Check that what many devices show in a cycle, when all of their values change, is bounded by one epsilon."""
    budget = BUDGETS[0]
    entropy = SystemEntropy()
    campaign = campaign_of(budget)
    costs = set[Fraction]()
    counts: list[Counts] = []
    # At a level of one bit, SECOND is in slot 0 and its double in slot 1.
    for values in ((FIRST, SECOND << 1), (SECOND << 1, FIRST)):
        seen: Counts = Counter()
        for _ in range(trials):
            device = CampaignDevice(entropy, _caps(budget), factory)
            seen[tuple(_shown(device.answer(campaign, 0, week, value)) for week, value in enumerate(values))] += 1
            costs.add(device.ledger.spent)
        counts.append(seen)
    bound = epsilon_bound(counts[0], counts[1], trials)
    claim = f"{2 * trials:,} devices through a cycle of two weeks, with two values in either order; each ledger says 1"
    return Check(
        "longitudinal_campaign", costs == {budget.amount} and bound <= budget.amount, claim, bound, float(budget.amount)
    )


def _shown(seen: Hashable) -> Hashable:
    """Return the slot that a report names, or the code of a refusal."""
    return decoded_batch(seen).reports()[0] if isinstance(seen, bytes) else seen


def campaign_checks(quick: bool) -> list[Check]:
    """Check whole cycles."""
    return [
        cycle_law_check(),
        one_week_check(50 if quick else 500),
        window_check(),
        caps_check(),
        cycle_loss_check(3_000 if quick else 50_000),
    ]
