"""What Canopy and the catalogue claim of their numbers: error bars, significance, and one law in both simulators.

Error bars: 2,000 items fixed beforehand; the share within one and within two standard errors is held against 68.3 %
and 95.4 % at 1e-9 (6.4 and 2.8 points). A standard error 20 % off is caught with 99 % power, and the test shows it.
Significance: the share of runs that mark an item nobody holds may exceed 5 % by chance only: with 2,000 runs of the
test alone an alarm at 1e-9 is at 8 %, and a rate of 11 % is caught with 99.9 % power.
"""

from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from tests.statistical.settings import FALSE_ALARM, Z
from tests.statistical.test_mechanism_laws import agree
from tests.support.populations import population

from treetop.datasets.federation import federation_from_mapping
from treetop.encoding.item_codecs import ItemCatalogue
from treetop.mechanisms.canopy import Canopy, CanopyParameters
from treetop.mechanisms.parameters import P
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.query import Query
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon
from treetop.query.preparation import prepared
from treetop.simulation.population import Population
from treetop.simulation.run import run
from treetop.trie.significance import NoiseScores, normal_scores, significant, sum_threshold, threshold

ITEMS = 2048
ONE, TWO = 0.6827, 0.9545


def crowded(parties: int = 3) -> Population:
    """Every one of 2,048 items is held by somebody, a few by many."""
    held = {
        f"p{place}": {str(item): 40 + 30 * place + 40_000 // (1 + (item * 7 + place) % 500) for item in range(ITEMS)}
        for place in range(parties)
    }
    return population(held, bits=11)


def deviations(mechanism: Mechanism[P], parameters: P, crowd: Population, seed: int) -> Any:
    """Return the errors of all counts in standard errors."""
    ranking = run(mechanism, parameters, crowd, seed=seed).ranking
    assert len(ranking) >= 2000
    truth = np.array(crowd.true_counts(ranking.prefixes))
    return (ranking.counts - truth) / np.sqrt(ranking.variances)


def right(errors: Any) -> bool:
    """Return whether the shares within one and two standard errors are what they should be, at 1e-9."""
    n = len(errors)
    return all(
        abs(np.mean(np.abs(errors) < limit) - share) < Z * np.sqrt(share * (1 - share) / n)
        for limit, share in ((1, ONE), (2, TWO))
    )


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_error_bars_of_canopy(epsilon: float) -> None:
    """All prefixes are kept and all items asked for, so that no item is chosen for what its estimate came out as."""
    parameters = CanopyParameters(ITEMS, Epsilon(epsilon), bits=11, step_bits=6, kept=64)
    errors = deviations(Canopy(), parameters, crowded(), seed=1)
    assert right(errors)
    assert not right(errors / 0.8)
    assert not right(errors * 0.8)


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_error_bars_of_the_catalogue(epsilon: float) -> None:
    crowd = crowded()
    listed = ItemCatalogue(tuple(crowd.federation.items))
    ready = prepared(crowd.federation, Query(ITEMS, epsilon, catalogue=listed))
    errors = deviations(ready.mechanism, ready.parameters, ready.population, seed=2)
    assert right(errors)
    assert not right(errors / 0.8)


def false_marks(parties: int, epsilon: float, z: float, runs: int = 2000, candidates: int = 256) -> int:
    """Return in how many runs some candidate that nobody holds is marked; parties of 20 to 20,000 reports."""
    randomness = np.random.default_rng(parties)
    q = oracle_named("olh", Epsilon(epsilon), candidates).q
    reports = np.geomspace(20, 20_000, parties)
    reports = np.rint(reports)
    support = randomness.binomial(reports.astype(np.int64), q, (runs * candidates, parties))
    noise = NoiseScores(normal_scores(support.astype(np.float64), reports, q), np.sqrt(reports), reports * q)
    return int(significant(noise, z).reshape(runs, candidates).any(axis=1).sum())


@pytest.mark.parametrize("parties", [1, 2, 4, 6, 12])
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_the_flag_hardly_ever_marks_noise(parties: int, epsilon: float) -> None:
    limit = binom.isf(FALSE_ALARM, 2000, 0.05)
    assert false_marks(parties, epsilon, threshold(parties, 256)) <= limit


def test_the_plain_normal_quantile_would_mark_noise() -> None:
    assert false_marks(6, 1.0, sum_threshold(256)) > binom.isf(FALSE_ALARM, 2000, 0.05)


@pytest.mark.parametrize("parties", [2, 4, 6, 12])
def test_runs_of_canopy_hardly_ever_mark_an_item_nobody_holds(parties: int) -> None:
    """Flat data at a low epsilon: nearly all that is returned is noise. 200 runs, the last level has 512 candidates."""
    held = {f"p{place}": {str(97 * item): 3 + place for item in range(600)} for place in range(parties)}
    crowd = population(held, bits=16)
    parameters = CanopyParameters(10, Epsilon(1.0), bits=16, step_bits=8, kept=2)
    marked = returned = 0
    for repetition in range(200):
        ranking = run(Canopy(), parameters, crowd, seed=3, repetition=repetition).ranking
        nobody = np.array(crowd.true_counts(ranking.prefixes)) == 0
        returned += int(nobody.sum())
        marked += bool(np.any(nobody & np.asarray(ranking.significant)))
    assert returned > 1000
    assert marked <= 0.05 * 200


RUNS = 1500


def catalogue_answers(oracle: str, simulator: str, epsilon: float = 1.5) -> tuple[Any, Any]:
    held = {"a": {"x": 150, "y": 90, "z": 60, "other": 70}, "b": {"y": 120, "z": 80}, "c": {"z": 60, "none": 40}}
    asked = Query(2, epsilon, oracle=oracle, catalogue=ItemCatalogue(("x", "y", "z", "w")))
    ready = prepared(federation_from_mapping(held), asked)
    mechanism, parameters, crowd = ready.mechanism, ready.parameters, ready.population
    seed = 1 if simulator == "exact" else 2
    rankings = [
        run(mechanism, parameters, crowd, seed=seed, repetition=r, simulator=simulator).ranking for r in range(RUNS)
    ]
    outside = [0.0 if ranking.outside is None else ranking.outside.count for ranking in rankings]
    return np.array([int(ranking.prefixes[0]) for ranking in rankings]), np.array(outside)


@pytest.mark.parametrize("oracle", ["krr", "olh", "walsh"])
def test_exact_and_device_by_device_catalogues_have_one_law(oracle: str) -> None:
    """Of the first item and of the users outside, by chi-square at 1e-9, 1,500 runs each way."""
    assert agree(catalogue_answers(oracle, "exact"), catalogue_answers(oracle, "devices"))


def test_the_comparison_sees_another_epsilon() -> None:
    assert not agree(catalogue_answers("krr", "exact"), catalogue_answers("krr", "exact", epsilon=2.0))
