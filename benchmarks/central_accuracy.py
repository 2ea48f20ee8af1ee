"""What trusting parties gains: F1 at epsilon 1 towards everybody, and with 1 towards everybody but one's own party.

`python -m benchmarks.central_accuracy`. k = 10, delta = 1e-8, exact simulation; seed r of run r also makes the key of
its hashes. The local epsilon comes from the smallest party's groups, half of their reports taken for fakes. Devices
allow 4 by default and refuse more, so both are measured: 4, with the central epsilon that it gives, and what 1 would
take.
"""

import sys
from dataclasses import replace
from fractions import Fraction

import numpy as np

from benchmarks.histograms import FOLDER, histogram, missing
from treetop.errors import InvalidInput
from treetop.federation.device.ledger import Caps
from treetop.mechanisms.deployed_groups import group_sizes
from treetop.mechanisms.query import Query
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.shuffling import CentralGuarantee, central_guarantee
from treetop.query.find import simulated_answer
from treetop.query.preparation import prepared

DATA = ("rdb", "ycm", "tys", "syn")
QUESTIONS = {"canopy": Query(mechanism="canopy"), "panorama": Query()}
WANTED = CentralGuarantee(1.0, 1e-8)
RUNS = 10
NO_CAP = Fraction(16)


def f1(data: str, question: Query, epsilon: float) -> str:
    """Return mean and standard error."""
    scores = [simulated_answer(histogram(data), replace(question, epsilon=epsilon), seed=r).truth for r in range(RUNS)]
    found = np.array([score.f1 for score in scores if score is not None])
    return f"{found.mean():.3f} ± {found.std(ddof=1) / len(found) ** 0.5:.3f}"


def row(data: str, name: str) -> str:
    question = QUESTIONS[name]
    ready = prepared(histogram(data), question)
    sizes = [party.users for party in ready.population.parties]

    def central(epsilon: Epsilon) -> float:
        groups = group_sizes(ready.mechanism, replace(ready.parameters, epsilon=epsilon), min(sizes))
        return central_guarantee(groups, epsilon, WANTED.delta).epsilon

    wished = ready.strategy.local_epsilon(sizes, WANTED, NO_CAP)
    try:
        allowed = ready.strategy.local_epsilon(sizes, WANTED, Caps().per_task)
    except InvalidInput:
        allowed = Epsilon(str(Caps().per_task))
    cells = [f"{f1(data, question, 1.0)} ({central(Epsilon(1)):g})"]
    cells += [f"{epsilon:g}: {f1(data, question, epsilon)} ({central(epsilon):g})" for epsilon in (allowed, wished)]
    return f"| {data}, {name} | {min(sizes):,} | {' | '.join(cells)} |"


def main() -> int:
    absent = missing([data for data in DATA if data != "syn"])
    if absent:
        print(f"skipped: {', '.join(absent)} not found in {FOLDER} (TREETOP_DATA names another folder)")
        return 0
    print("| data | smallest party | epsilon 1 (central) | within the cap (central) | central 1 |", flush=True)
    print("|---|---|---|---|---|", flush=True)
    for name in QUESTIONS:
        for data in DATA:
            print(row(data, name), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
