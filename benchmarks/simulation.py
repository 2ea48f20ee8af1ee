"""The cost of simulated runs against shuffling the users once."""

from collections.abc import Callable

import numpy as np

from benchmarks.measuring import Measured, best_of, ratio
from treetop.datasets.federation import Federation, PartyItems
from treetop.encoding.item_codecs import codec_named
from treetop.mechanisms.registry import mechanism_named
from treetop.privacy.epsilon import Epsilon
from treetop.query.strategy import catalogued
from treetop.simulation.population import Population
from treetop.simulation.run import run

TITLE = "Simulated runs"
LIMITS = """
What limits: the cost of calls in Python and numpy, about 0.2 ms for each of TAPS's 274 questions; for the catalogue,
drawing two binomials for each item and party. The reference varies more than our runs do: shuffling took 137, 189 and
220 ms in three runs within a quarter of an hour, TAPS 52 or 53 ms each time, the catalogue 146 to 164 ms. Against the
fastest shuffle seen, TAPS is at 0.38 and the catalogue at 1.07, which would miss its limit.
"""
USERS = (1_476_546, 1_263_768, 1_246_972, 1_117_376, 774_626, 604_082)
"""The six parties of UBA."""
ITEMS = 160_000
GROWN = 461
"""6.48 M users become 2.99 G, every party below 10^9."""


def population(times: int = 1) -> Population:
    """Six parties with 160,000 items each, ranks by Zipf's law, ids of up to 40 bits."""
    randomness = np.random.default_rng(0)
    items = [str(item) for item in randomness.choice(2**40, 200_000, replace=False).tolist()]
    weights = 1 / np.arange(1, ITEMS + 1)
    parties = tuple(
        PartyItems(
            f"party_{place}",
            randomness.permutation(len(items))[:ITEMS],
            1 + randomness.multinomial(users * times - ITEMS, weights / weights.sum()),
        )
        for place, users in enumerate(USERS)
    )
    return Population(Federation("six parties", items, parties), codec_named("ids", 48))


def measure() -> list[Measured]:
    users = np.arange(6_500_000, dtype=np.int32)
    randomness = np.random.default_rng(1)
    shuffle = best_of(5, lambda: randomness.permutation(users))
    small, large = population(), population(GROWN)
    rows = [
        ratio(f"{name}, exact, 6.5 M users / shuffling 6.5 M int32", one_run(name, small), shuffle, limit)
        for name, limit in (("fedpem", None), ("gtf", None), ("tap", None), ("taps", 0.4))
    ]
    devices = one_run("taps", small, "devices")
    return [
        *rows,
        ratio("canopy, exact, 6.5 M users / the same shuffle", one_run("canopy", small, oracle="auto"), shuffle, 1),
        ratio("catalogue of 160,000 items, exact, 6.5 M users / the same shuffle", one_survey(small), shuffle, 1),
        ratio("taps, device by device, 6.5 M users / the same shuffle", devices, shuffle, 10, times=3),
        ratio("taps, exact, 3 G users / 6.5 M users", one_run("taps", large), rows[-1].seconds, 1.5),
    ]


def one_survey(crowd: Population) -> Callable[[], object]:
    survey, listed = catalogued(crowd.federation, crowd.federation.items[:ITEMS])
    return lambda: run(survey, survey.parameters(10, Epsilon(4)), listed, seed=1)


def one_run(name: str, crowd: Population, simulator: str = "exact", oracle: str = "krr") -> Callable[[], object]:
    mechanism = mechanism_named(name)
    parameters = mechanism.parameters(10, Epsilon(4), oracle)
    return lambda: run(mechanism, parameters, crowd, seed=1, simulator=simulator)
