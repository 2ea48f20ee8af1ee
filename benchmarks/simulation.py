"""The cost of simulated runs against shuffling the users once."""

from collections.abc import Callable

import numpy as np

from benchmarks.histograms import histogram, missing
from benchmarks.measuring import Failed, Measured, Row, best_of, ratio
from treetop.datasets.federation import Federation, PartyItems
from treetop.encoding.item_codecs import HashedText, ItemCatalogue, codec_named
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.panorama.texts import CodeList
from treetop.mechanisms.query import Query
from treetop.mechanisms.registry import mechanism_named
from treetop.privacy.epsilon import Epsilon
from treetop.query.preparation import prepared
from treetop.simulation.population import Population
from treetop.simulation.run import run

TITLE = "Simulated runs"
LIMITS = """
What limits: the cost of calls in Python and numpy, about 0.2 ms for each of TAPS's 274 questions; for the catalogue,
drawing two binomials for each item and party; for Panorama, the 120,000 to 140,000 names above its bound that a party
draws and sends and that the server merges, and where texts are recovered, drawing 256 values of 12 chunks behind every
name that is read, and searching for texts: about 0.4 µs for each beginning of a code that is looked at. The reference
varies more than our runs do: shuffling took 137, 189 and 220 ms in three runs within a quarter of an hour, TAPS 52 or
53 ms each time, the catalogue 146 to 164 ms. Against the fastest shuffle seen, TAPS is at 0.38 and the catalogue at
1.07, which would miss its limit.
"""
USERS = (1_476_546, 1_263_768, 1_246_972, 1_117_376, 774_626, 604_082)
"""The six parties of UBA."""
ITEMS = 160_000
GROWN = 461
"""6.48 M users become 2.99 G, every party below 10^9."""
LISTED = 50_000
FEWER = 26
"""6.5 M users become 250,000."""


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


def names6(times: int = 1, share: int = 1) -> Population:
    """6.5 M users of six parties and their first names, hashed into 24 bits, with the chunks of their texts."""
    federation = histogram("names6")
    users = [-(-party.users * times // share) for party in federation.parties]
    parties = tuple(PartyItems(party.name, party.items, n) for party, n in zip(federation.parties, users, strict=True))
    return Population(Federation("names6", federation.items, parties), HashedText(24))


def panorama(shuffle: float) -> list[Row]:
    """Every name of 24 bits, a list of 50,000: all names of the data, and others that nobody holds."""
    what = f"panorama, exact, list of {LISTED:,}, 6.5 M users"
    if missing(["names6"]):
        return [Failed(what, "names6.parquet is not there")]
    small = names6()
    texts = [name.encode() for name in small.federation.items]
    texts += [b"nobody %d" % number for number in range(LISTED - len(texts))]
    listed = Panorama(listed_names(small, texts, 0), texts=False)
    read = Panorama(listed_names(small, texts, HashedText(24).chunks))
    unlisted, few = Panorama(listed_names(small, [], HashedText(24).chunks)), names6(share=FEWER)
    small_run = ratio(f"{what} / the same shuffle", one_panorama(listed, small), shuffle, 2)
    return [
        small_run,
        ratio(f"{what}, texts recovered / the same shuffle", one_panorama(read, small), shuffle, times=3),
        ratio(
            "panorama, exact, no list, texts, 6.5 M users / the same shuffle", one_panorama(unlisted, small), shuffle
        ),
        ratio("panorama, exact, no list, texts, 0.25 M users / 2 s", one_panorama(unlisted, few), 2.0, 1),
        ratio("panorama, exact, 3 G users / 6.5 M users", one_panorama(listed, names6(GROWN)), small_run.seconds, 1.5),
    ]


def listed_names(crowd: Population, texts: list[bytes], chunks: int) -> CodeList:
    assert isinstance(crowd.codec, HashedText)
    return CodeList.hashed(texts, crowd.codec, chunks, ordered=True)


def one_panorama(mechanism: Panorama, crowd: Population) -> Callable[[], object]:
    return lambda: run(mechanism, mechanism.parameters(10, Epsilon(2)), crowd, seed=1)


def measure() -> list[Row]:
    users = np.arange(6_500_000, dtype=np.int32)
    randomness = np.random.default_rng(1)
    shuffle = best_of(5, lambda: randomness.permutation(users))
    small, large = population(), population(GROWN)
    rows: list[Measured] = [
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
        *panorama(shuffle),
    ]


def one_survey(crowd: Population) -> Callable[[], object]:
    listed = ItemCatalogue(tuple(crowd.federation.items[:ITEMS]))
    survey = prepared(crowd.federation, Query(10, 4.0, catalogue=listed))
    return lambda: run(survey.mechanism, survey.parameters, survey.population, seed=1)


def one_run(name: str, crowd: Population, simulator: str = "exact", oracle: str = "krr") -> Callable[[], object]:
    mechanism = mechanism_named(name)
    parameters = mechanism.parameters(10, Epsilon(4), oracle)
    return lambda: run(mechanism, parameters, crowd, seed=1, simulator=simulator)
