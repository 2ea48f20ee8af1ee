"""Empirical checks: a lower bound on the epsilon that reports show, as an outsider would measure it.

A falsifier, not a proof: it detects large mistakes anywhere between the device's interface and the bytes that it
sends, and every check states how large they must be. The last check covers many tasks about one value.
"""

from collections import Counter
from collections.abc import Hashable
from fractions import Fraction
from math import exp, lgamma, log, log1p, sqrt
from statistics import NormalDist

import numpy as np

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.adapters.system.host import SystemEntropy
from treetop.adapters.system.vectorised_device import perturb
from treetop.audit.checks import Check
from treetop.audit.chosen_inputs import FIRST, SECOND, Audited, DeviceFactory, audited, fresh_ledger
from treetop.audit.oracle_laws import event_law
from treetop.errors import BudgetExceeded
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Caps, Ledger
from treetop.federation.wire.report_batches import decoded_batch
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.protocol import Oracle
from treetop.privacy.budget import Budget

RISK = 0.001
"""Probability that a bound is too high: a correct device fails one check in a thousand at most."""
POWER = 0.999
EVENTS = 4
"""Whether a report supports the first value, the second, both or neither."""
TASK_BUDGET = Budget("0.5")
"""Of each of the many tasks about one value."""
HALVINGS = 100
"""Of the interval from 0 to 1: 2^-100 is far below any share that an audit can observe."""
MAX_STEPS = 500
"""Of a continued fraction; bounds of 10^5 to 10^7 trials take 320 at most, and tests compare them with SciPy's."""
TINY = 1e-300
"""Stands for zero in Lentz's method, which divides by its terms."""
Counts = Counter[Hashable]


def binomial_lower(successes: int, trials: int, risk: float) -> float:
    """Return the p below which that number of successes, or more, has a probability under `risk`.

    The exact bound of Clopper and Pearson (1934): P(Bin(trials, p) >= successes) is I_p(successes, failures + 1), which
    rises with p. No statistics library is needed on the auditor's machine.
    """
    if successes == 0:
        return 0.0
    low = 0.0
    high = 1.0
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        if _beta_cdf(middle, successes, trials - successes + 1) < risk:
            low = middle
        else:
            high = middle
    return low  # the lower end, so that rounding never makes the bound too high


def binomial_upper(successes: int, trials: int, risk: float) -> float:
    """Return the p above which that number of successes, or fewer, has a probability under `risk`."""
    return 1 - binomial_lower(trials - successes, trials, risk)


def _beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):  # the fraction converges fast on the other side only
        return 1 - _beta_cdf(1 - x, b, a)
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    return front * _continued_fraction(x, a, b) / a


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction of I_x(a, b) by Lentz's method (DLMF 8.17.22)."""
    c = 1.0
    d = 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, MAX_STEPS):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-15:
            break
    return value


def _away_from_zero(number: float) -> float:
    return number if abs(number) > TINY else TINY


def epsilon_bound(first: Counts, second: Counts, trials: int) -> float:
    """Return a lower bound of epsilon, with 99.9 % confidence over all events and both directions together."""
    events = first.keys() | second.keys()
    # The union bound: a lower and an upper bound, in two directions, for every event.
    risk = RISK / (4 * len(events))
    bounds = []
    for event in events:
        for one, two in ((first[event], second[event]), (second[event], first[event])):
            lower = binomial_lower(one, trials, risk)
            bounds.append(log(lower / binomial_upper(two, trials, risk)) if lower else 0.0)
    return max(bounds)


def visible_excess(p: float, q: float, trials: int) -> float:
    """Return the smallest excess over epsilon that the bound shows with 99.9 % power, for an event of p against q."""
    # By the delta method, the logarithm of an observed share of p has a standard deviation of sqrt((1 - p) / (n p)).
    spread_p = sqrt((1 - p) / (trials * p))
    spread_q = sqrt((1 - q) / (trials * q))
    margin = -NormalDist().inv_cdf(RISK / (4 * EVENTS)) * (spread_p + spread_q)
    return margin + NormalDist().inv_cdf(POWER) * sqrt(spread_p**2 + spread_q**2)


def device_events(factory: DeviceFactory, asked: Audited, code: int, trials: int) -> Counts:
    """Count which of the two values the reports of new devices support, through their interface and their bytes."""
    entropy = SystemEntropy()
    face = asked.face
    first = asked.asked_value(FIRST)
    second = asked.asked_value(SECOND)
    counts: Counts = Counter()
    for _ in range(trials):
        (report,) = decoded_batch(asked.answer(factory(lambda: code, entropy, fresh_ledger()))).reports()
        counts[face.supports(report, first), face.supports(report, second)] += 1
    return counts


def telling_event(asked: Audited) -> tuple[float, float]:
    """Return how likely a report supports the first value alone: if that is the true one, and if the second is."""
    values = asked.asked_value(FIRST), asked.asked_value(SECOND)
    p, q = (event_law(asked.face, value, values)[True, False] for value in values)
    return p, q


def device_check(oracle: Oracle, budget: Budget, trials: int, factory: DeviceFactory = Device) -> Check:
    """Check that real devices, seen from outside, show no more than epsilon."""
    asked = audited(oracle, budget)
    first, second = (device_events(factory, asked, code, trials) for code in (FIRST, SECOND))
    bound = epsilon_bound(first, second, trials)
    power = visible_excess(*telling_event(asked), trials)
    claim = (
        f"{oracle} devices, {2 * trials:,} reports: epsilon shown at 99.9 % confidence; "
        f"an excess of {power:.3f} would be seen with 99.9 % power"
    )
    return Check(f"empirical_{oracle}", bound <= budget.amount, claim, bound, float(budget.amount))


def vectorised_events(value: int, budget: Budget, trials: int) -> Counts:
    """Count how often the vectorised sampler names slot 0, slot 1 or any other."""
    reports = perturb(KRandomizedResponse(), value, 5, budget.text, trials)
    # Slots 2 to 4 are equally likely under both values: one event, which leaves more confidence to the others.
    slots, counts = np.unique(np.minimum(reports, 2), return_counts=True)
    return Counter(dict(zip(slots.tolist(), counts.tolist(), strict=True)))


def vectorised_checks(budget: Budget, trials: int) -> list[Check]:
    """Check that the vectorised sampler shows no more than epsilon, and that the bound comes close to it."""
    bound = epsilon_bound(vectorised_events(0, budget, trials), vectorised_events(1, budget, trials), trials)
    epsilon = float(budget.amount)
    subject = f"vectorised k-RR at epsilon {budget.text}, {2 * trials:,} reports"
    shown = f"{subject}: epsilon shown at 99.9 % confidence"
    teeth = f"{subject}: the audit has teeth, it shows at least 0.95 epsilon"
    return [
        Check(f"empirical_vectorised_{budget.text}", bound <= epsilon, shown, bound, epsilon),
        Check(f"teeth_{budget.text}", bound >= 0.95 * epsilon, teeth, bound, 0.95 * epsilon),
    ]


def _caps(tasks: int) -> Caps:
    """Return caps that this number of tasks uses up, all within one window."""
    total = TASK_BUDGET.amount * tasks
    return Caps(lifetime=total, least_slots=3, window=total)


def answered(tasks: list[Audited], value: int, entropy: SystemEntropy) -> tuple[int, Fraction]:
    """Let a device answer all tasks; return how many reports name slot 0, and the cost in its ledger."""
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
    """Check that several tasks together show no more than the ledger's exact sum, and that the sum is right."""
    tasks = [audited(KRandomizedResponse(), TASK_BUDGET, 1).named(f"task {index}") for index in range(number)]
    total = TASK_BUDGET.amount * number
    entropy = SystemEntropy()
    counts: list[Counts] = []
    costs: set[Fraction] = set()
    for value in (FIRST, SECOND << 1):  # slots 0 and 1 of a level of one bit
        answers = [answered(tasks, value, entropy) for _ in range(trials)]
        counts.append(Counter(named for named, _ in answers))
        costs |= {cost for _, cost in answers}
    bound = epsilon_bound(counts[0], counts[1], trials)
    claim = f"{2 * trials:,} devices, tasks answered by each: {number}; the ledger says {total} exactly, then refuses"
    exact = costs == {total} and refuses_one_more([*tasks, audited(KRandomizedResponse(), TASK_BUDGET, 1)])
    return Check(f"longitudinal_{number}", exact and bound <= total, claim, bound, float(total))
