"""Many tasks about one value: what they show together, and what the ledger says that they cost."""

from collections import Counter
from fractions import Fraction

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.adapters.system.host import SystemEntropy
from treetop.audit.audit_report import Check
from treetop.audit.empirical_epsilon import Counts, epsilon_bound
from treetop.audit.neighbouring_inputs import FIRST, SECOND, Audited, audited
from treetop.errors import BudgetExceeded
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Caps, Ledger
from treetop.federation.wire.report_batches import decoded_batch
from treetop.oracles.krr import KRandomizedResponse
from treetop.privacy.budget import Budget

BUDGET = Budget("0.5")


def _caps(tasks: int) -> Caps:
    """Return caps that so many tasks use up: all of them may be answered at once."""
    total = BUDGET.amount * tasks
    return Caps(lifetime=total, least_slots=3, window=total)


def answered(tasks: list[Audited], value: int, entropy: SystemEntropy) -> tuple[int, Fraction]:
    """Let a device answer all tasks; return how many reports name slot 0, and what its ledger says they cost."""
    ledger = Ledger(MemoryLedger(), MemoryCounter(), _caps(len(tasks)))
    device = Device(lambda: value, entropy, ledger)
    reports = [decoded_batch(asked.answer(device)).reports()[0] for asked in tasks]
    return sum(report == 0 for report in reports), ledger.spent


def refuses_one_more(tasks: list[Audited]) -> bool:
    """Return whether a device whose lifetime cap is spent refuses the next task."""
    ledger = Ledger(MemoryLedger(), MemoryCounter(), _caps(len(tasks) - 1))
    device = Device(lambda: FIRST, SystemEntropy(), ledger)
    for asked in tasks[:-1]:
        asked.answer(device)
    try:
        tasks[-1].answer(device)
    except BudgetExceeded:
        return True
    return False


def longitudinal_check(number: int, trials: int) -> Check:
    """Check that so many tasks show no more than the ledger's exact sum, and that the sum is right."""
    tasks = [audited(KRandomizedResponse(), BUDGET, 1).named(f"task {place}") for place in range(number)]
    total = BUDGET.amount * number
    entropy = SystemEntropy()
    counts: list[Counts] = []
    costs: set[Fraction] = set()
    for value in (FIRST, SECOND << 1):
        answers = [answered(tasks, value, entropy) for _ in range(trials)]
        counts.append(Counter(named for named, _ in answers))
        costs |= {cost for _, cost in answers}
    bound = epsilon_bound(counts[0], counts[1], trials)
    claim = f"{2 * trials:,} devices, tasks answered by each: {number}; the ledger says {total} exactly, then refuses"
    exact = costs == {total} and refuses_one_more([*tasks, audited(KRandomizedResponse(), BUDGET, 1)])
    return Check(f"longitudinal_{number}", exact and bound <= total, claim, bound, float(total))
