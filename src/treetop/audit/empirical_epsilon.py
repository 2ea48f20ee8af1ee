"""Empirical checks: a lower bound on the epsilon that reports show, as an outsider would measure it.

A falsifier, not a proof: it sees large mistakes anywhere between the device's interface and the bytes that it
sends, and the power says how large.
"""

from collections import Counter
from collections.abc import Hashable
from math import log, sqrt
from statistics import NormalDist

import numpy as np

from treetop.adapters.system.host import SystemEntropy
from treetop.adapters.system.vectorised_device import perturb
from treetop.audit.audit_report import Check
from treetop.audit.confidence import binomial_lower, binomial_upper
from treetop.audit.laws.oracle_laws import event_law
from treetop.audit.neighbouring_inputs import FIRST, SECOND, Audited, DeviceFactory, audited, fresh_ledger
from treetop.federation.device.device import Device
from treetop.federation.wire.report_batches import decoded_batch
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.protocol import Oracle
from treetop.privacy.budget import Budget

RISK = 0.001
POWER = 0.999
EVENTS = 4
Counts = Counter[Hashable]


def epsilon_bound(first: Counts, second: Counts, trials: int) -> float:
    """Return what epsilon is at least, with 99.9 % confidence over all events and both directions together."""
    events = first.keys() | second.keys()
    risk = RISK / (4 * len(events))
    pairs = [(first[event], second[event]) for event in events]
    return max(_log_ratio(one, two, trials, risk) for pair in pairs for one, two in (pair, pair[::-1]))


def _log_ratio(one: int, two: int, trials: int, risk: float) -> float:
    lower = binomial_lower(one, trials, risk)
    return log(lower / binomial_upper(two, trials, risk)) if lower else 0.0


def visible_excess(p: float, q: float, trials: int) -> float:
    """Return the smallest excess over epsilon that the bound shows with 99.9 % power, for an event of p against q."""
    spread_p = sqrt((1 - p) / (trials * p))
    spread_q = sqrt((1 - q) / (trials * q))
    margin = -NormalDist().inv_cdf(RISK / (4 * EVENTS)) * (spread_p + spread_q)
    return margin + NormalDist().inv_cdf(POWER) * sqrt(spread_p**2 + spread_q**2)


def device_events(factory: DeviceFactory, asked: Audited, code: int, trials: int) -> Counts:
    """Return how often reports of so many devices support the two values, through their interface and their bytes."""
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
    """Return how likely a report supports the first value and not the second: where it is true, and where not."""
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
    """Return how often each event was seen from the vectorised sampler."""
    slots, counts = np.unique(
        np.minimum(perturb(KRandomizedResponse(), value, 5, budget.text, trials), 2), return_counts=True
    )
    return Counter(dict(zip(slots.tolist(), counts.tolist(), strict=True)))


def vectorised_checks(budget: Budget, trials: int) -> list[Check]:
    """Check that the vectorised sampler shows no more than epsilon, and that the bound comes close to it."""
    bound = epsilon_bound(vectorised_events(0, budget, trials), vectorised_events(1, budget, trials), trials)
    epsilon, said = float(budget.amount), f"vectorised k-RR at epsilon {budget.text}, {2 * trials:,} reports"
    shown = f"{said}: epsilon shown at 99.9 % confidence"
    teeth = f"{said}: the audit has teeth, it shows at least 0.95 epsilon"
    return [
        Check(f"empirical_vectorised_{budget.text}", bound <= epsilon, shown, bound, epsilon),
        Check(f"teeth_{budget.text}", bound >= 0.95 * epsilon, teeth, bound, 0.95 * epsilon),
    ]
