"""Whole mechanisms: exact simulation and device by device give the same law of answers.

Settings: three tiny parties, 8-bit codes, 4 levels, k = 2, epsilon 1.5, 1,500 runs each way. Compared are the law
of the answer's first item and of its estimated count in deciles, by chi-square at 1e-9. A first item whose
probability differs by 0.18 between the two is caught with 99 % power; the last test shows a wrong epsilon caught.
"""

from typing import Any

import numpy as np
import pytest
from tests.statistical.settings import chi_square_limit
from tests.support.over_ids import mechanism_over_ids, oracle_of
from tests.support.populations import population

from treetop.mechanisms.registry import MECHANISMS, parameters_for
from treetop.simulation.run import run

RUNS = 1500
PARTIES = {
    "a": {"17": 150, "18": 90, "200": 60, "90": 30, "91": 20},
    "b": {"18": 120, "200": 80, "33": 40},
    "c": {"200": 60, "17": 50, "1": 40},
}


def answers(
    name: str, oracle: str, simulator: str, groups: str, epsilon: float = 1.5, **more: object
) -> tuple[Any, Any]:
    crowd = population(PARTIES)
    settings = {"bits": 8, "levels": 4, "step_bits": 2, "groups": groups, **more}
    mechanism = mechanism_over_ids(name)
    parameters = parameters_for(mechanism, 2, epsilon, oracle_of(name, oracle), settings)
    seed = 1 if simulator == "exact" else 2
    rankings = [
        run(mechanism, parameters, crowd, seed=seed, repetition=r, simulator=simulator).ranking for r in range(RUNS)
    ]
    firsts = np.array([int(ranking.prefixes[0]) if len(ranking) else -1 for ranking in rankings])
    counts = np.array([float(ranking.counts[0]) if len(ranking) else 0.0 for ranking in rankings])
    return firsts, counts


def same_law(one: Any, two: Any) -> bool:
    """Two-sample chi-square over categories, rare ones (fewer than 20 seen) together."""
    labels, codes = np.unique(np.concatenate([one, two]), return_inverse=True)
    table = np.array([np.bincount(part, minlength=len(labels)) for part in np.split(codes, 2)])
    rare = table.sum(axis=0) < 20
    table = np.column_stack([table[:, ~rare], table[:, rare].sum(axis=1)])
    table = table[:, table.sum(axis=0) > 0]
    expected = table.sum(axis=0) / 2
    return bool(((table - expected) ** 2 / expected).sum() < chi_square_limit(max(table.shape[1] - 1, 1)))


def agree(one: tuple[Any, Any], two: tuple[Any, Any]) -> bool:
    """Compare both the first item and its count."""
    edges = np.quantile(np.concatenate([one[1], two[1]]), np.arange(0.1, 1, 0.1))
    counts = (np.searchsorted(edges, part[1]) for part in (one, two))
    return same_law(one[0], two[0]) and same_law(*counts)


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize(("oracle", "groups"), [("krr", "fixed"), ("olh", "fixed"), ("krr", "independent")])
def test_exact_and_device_by_device_answers_have_one_law(name: str, oracle: str, groups: str) -> None:
    assert agree(answers(name, oracle, "exact", groups), answers(name, oracle, "devices", groups))


def test_a_seeded_search_has_one_law_too() -> None:
    exact, devices = (
        answers("canopy", "olh", simulator, "fixed", kept=2, seeds="11=0.2,12=0.2,c8=0.1")
        for simulator in ("exact", "devices")
    )
    assert agree(exact, devices)
    assert not agree(exact, answers("canopy", "olh", "exact", "fixed", kept=2))


def test_the_comparison_sees_another_epsilon() -> None:
    assert not agree(answers("tap", "krr", "exact", "fixed"), answers("tap", "krr", "exact", "fixed", epsilon=2.0))
