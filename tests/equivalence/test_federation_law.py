"""One-shot TAPS over stored reports has the law of the exact simulation whose users draw their own groups.

Small federations, many of them. Compared are the answers as sets (two-sample chi-square), and mean and variance of the
count of one item. 400 of each see a shift of 0.6 standard deviations in the mean, or a variance 2.5 times as large,
with probability above 0.99; a false alarm is one in 10^9, and the seeds are fixed.
"""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from tests.statistical.settings import FALSE_ALARM
from tests.support.clocks import HandClock
from tests.support.federations import Federation, order
from tests.support.populations import population

from treetop.federation.server.planning import planned_task
from treetop.federation.task import DeviceTask, WeightedGroup
from treetop.federation.task_parameters import parameters_of
from treetop.mechanisms.registry import mechanism_named
from treetop.simulation.run import run
from treetop.trie.user_groups import Group

HOLDERS = {
    "a": {"200": 400, "201": 240, "9": 160, "77": 120, "130": 80},
    "b": {"200": 300, "77": 300, "9": 200, "64": 200},
    "c": {"201": 350, "9": 250, "130": 250, "17": 150},
}
"""A thousand users each, so that the weights of the task and the sizes of the simulation are the same shares."""
WATCHED = 9
RARE = 25

Runs = tuple[list[frozenset[str]], NDArray[np.float64]]


def asked() -> Federation:
    codes = {name: [int(item) for item, users in held.items() for _ in range(users)] for name, held in HOLDERS.items()}
    return Federation.of(order("taps", "one-shot", "abc", k=3, epsilon="1.5"), codes)


def count_of_watched(found: dict[int, float]) -> float:
    return found.get(WATCHED, 0.0)


def federations(runs: int, task: DeviceTask | None = None) -> Runs:
    answers, counts = [], []
    for seed in range(runs):
        federation = asked()
        for place, party in enumerate(federation.parties.values()):
            party.entropy = type(party.entropy)(10_000 * place + seed)
        federation.clock = HandClock(0)
        query = federation.query()
        if task is not None:
            query = type(query)(
                task, query._signer, federation.journal, federation.channels,
                clock=federation.clock, entropy=query._entropy,
            )  # fmt: skip
        rows = query.run().content["items"]
        answers.append(frozenset(row["item"] for row in rows))
        counts.append(count_of_watched({int(row["item"]): row["count"] for row in rows}))
    return answers, np.array(counts)


def simulations(runs: int) -> Runs:
    crowd, parameters = population(HOLDERS), parameters_of(asked().task)
    answers, counts = [], []
    for seed in range(runs):
        ranking = run(mechanism_named("taps"), parameters, crowd, seed=seed).ranking
        answers.append(frozenset(map(str, ranking.prefixes.tolist())))
        counts.append(count_of_watched(dict(zip(ranking.prefixes.tolist(), ranking.counts.tolist(), strict=True))))
    return answers, np.array(counts)


def answers_differ(one: list[frozenset[str]], other: list[frozenset[str]]) -> float:
    """Two-sample chi-square on the answers; rare ones together."""
    both = Counter(one) + Counter(other)
    common = [answer for answer, times in both.items() if times >= RARE]
    table = [[Counter(side)[answer] for answer in common] for side in (one, other)]
    for row, side in zip(table, (one, other), strict=True):
        row.append(len(side) - sum(row))
    kept = [column for column in zip(*table, strict=True) if sum(column) >= RARE]
    return float(stats.chi2_contingency(np.array(kept).T).pvalue)


def moments_differ(one: NDArray[np.float64], other: NDArray[np.float64]) -> tuple[float, float]:
    """p-values of equal means (Welch) and of equal variances (normal, with the samples' own fourth moments)."""
    means = float(stats.ttest_ind(one, other, equal_var=False).pvalue)
    errors = [(stats.moment(x, 4) - np.var(x) ** 2) / len(x) for x in (one, other)]
    z = (np.var(one) - np.var(other)) / np.sqrt(sum(errors))
    return means, float(2 * stats.norm.sf(abs(z)))


def smallest_p(one: Runs, other: Runs) -> float:
    return min(answers_differ(one[0], other[0]), *moments_differ(one[1], other[1]))


@pytest.fixture(scope="module")
def simulated() -> Runs:
    return simulations(400)


def test_one_shot_taps_has_the_law_of_the_simulation(simulated: Runs) -> None:
    assert smallest_p(federations(400), simulated) >= FALSE_ALARM


def test_the_comparison_sees_a_wrong_weight(simulated: Runs) -> None:
    """The last level with a fifth of its weight: the counts are that much noisier."""
    task = planned_task(asked().order)
    wrong = tuple(
        WeightedGroup(entry.group, entry.weight * (1 if entry.group == Group(4) else 5)) for entry in task.groups
    )
    assert smallest_p(federations(250, replace(task, groups=wrong)), simulated) < FALSE_ALARM


@pytest.mark.slow
def test_one_shot_taps_has_the_law_of_the_simulation_in_long() -> None:
    assert smallest_p(federations(4000), simulations(4000)) >= FALSE_ALARM
