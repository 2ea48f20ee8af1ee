"""Empirical checks: a lower bound on the epsilon that reports show, as an outsider would measure it.

A falsifier, not a proof: it sees large mistakes anywhere between the device's interface and the bytes that it
sends, and the power says how large.
"""

from collections import Counter
from collections.abc import Hashable
from dataclasses import dataclass
from math import exp, log, sqrt
from statistics import NormalDist
from typing import Any

import numpy as np

from treetop.adapters.system.entropy import SystemEntropy
from treetop.adapters.system.vectorised_device import perturb
from treetop.audit.audit_report import Check
from treetop.audit.confidence import binomial_lower, binomial_upper
from treetop.audit.neighbouring_inputs import FIRST, SECOND, Audited, DeviceFactory, audited, fresh_ledger
from treetop.federation.bucket_hash import bucket_of
from treetop.federation.device.device import Device
from treetop.federation.task import OracleName
from treetop.federation.thresholds import bucket_count
from treetop.federation.wire.report_batches import decoded_batch
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
    spread_p, spread_q = sqrt((1 - p) / (trials * p)), sqrt((1 - q) / (trials * q))
    margin = -NormalDist().inv_cdf(RISK / (4 * EVENTS)) * (spread_p + spread_q)
    return margin + NormalDist().inv_cdf(POWER) * sqrt(spread_p**2 + spread_q**2)


def event_of(oracle: OracleName, report: Any, buckets: int) -> Hashable:
    """Return what a report says of the two values: the event that tells them apart best."""
    if oracle == "krr":
        return min(int(report), 2)
    if oracle == "oue":
        return bool(report[0]), bool(report[1])
    first, second = (bucket_of(report.seed, code >> 6, buckets) for code in (FIRST, SECOND))
    return first == report.bucket, second == report.bucket


def device_events(factory: DeviceFactory, asked: Audited, value: int, trials: int) -> Counts:
    """Return how often each event was seen from so many devices, through their interface and their bytes."""
    entropy = SystemEntropy()
    counts: Counts = Counter()
    for _ in range(trials):
        batch = decoded_batch(asked.answer(factory(lambda: value, entropy, fresh_ledger())))
        counts[event_of(batch.envelope.oracle, batch.reports()[0], batch.envelope.slots)] += 1
    return counts


@dataclass(frozen=True)
class Probabilities:
    """How likely the telling event is for the value that it tells, and for the other."""

    p: float
    q: float

    @classmethod
    def of(cls, oracle: OracleName, budget: Budget) -> "Probabilities":
        """Return p and q for the audited domain of four candidates and the dummy."""
        odds, buckets = exp(budget.amount), bucket_count(budget)
        if oracle == "oue":
            return cls(0.5 * odds / (odds + 1), 0.5 / (odds + 1))
        if oracle == "krr":
            return cls(odds / (4 + odds), 1 / (4 + odds))
        apart = 1 - 1 / buckets
        return cls(apart * odds / (buckets - 1 + odds), apart / (buckets - 1 + odds))


def device_check(oracle: OracleName, budget: Budget, trials: int, factory: DeviceFactory = Device) -> Check:
    """Check that real devices, seen from outside, show no more than epsilon."""
    asked = audited(oracle, budget)
    first, second = (device_events(factory, asked, value, trials) for value in (FIRST, SECOND))
    bound = epsilon_bound(first, second, trials)
    likely = Probabilities.of(oracle, budget)
    power = visible_excess(likely.p, likely.q, trials)
    claim = (
        f"{oracle} devices, {2 * trials:,} reports: epsilon shown at 99.9 % confidence; "
        f"an excess of {power:.3f} would be seen with 99.9 % power"
    )
    return Check(f"empirical_{oracle}", bound <= budget.amount, claim, bound, float(budget.amount))


def vectorised_events(value: int, budget: Budget, trials: int) -> Counts:
    """Return how often each event was seen from the vectorised sampler."""
    slots, counts = np.unique(np.minimum(perturb("krr", value, 5, budget.text, trials), 2), return_counts=True)
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
