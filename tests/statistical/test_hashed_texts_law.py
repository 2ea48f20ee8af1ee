"""Chunk reports: the exact simulation and the devices agree in law, also where items share a hash.

Two items share an 8-bit hash and differ in a chunk; a third has a hash of its own. Over 400 repetitions per simulator
the mean support of every candidate value that somebody holds is compared; 4.9 standard errors of the difference leave a
false alarm below 1e-6 a comparison. A simulator that lost the second of two items with one hash would be far off.
"""

import numpy as np

from treetop.datasets.federation import federation_from_mapping
from treetop.encoding.hashed_text import HashedText
from treetop.mechanisms.dialogue import CollectReports, DrawGroup
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.population import Population
from treetop.simulation.run import simulator_named
from treetop.trie.candidate_domain import CandidateDomain, ChunkDomain
from treetop.trie.user_groups import Group

RUNS = 400
WIDEST = 4.9
USERS = (90, 60, 150)


def _twins() -> list[str]:
    codec = HashedText(8)
    words = [f"word {number}" for number in range(3_000)]
    code = codec.hash_of(words[0].encode())
    alike = [word for word in words if codec.hash_of(word.encode()) == code]
    return [alike[0], alike[1], next(word for word in words if codec.hash_of(word.encode()) != code)]


def _supports(simulator: str, oracle: str) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    names = _twins()
    federation = federation_from_mapping({"one": dict(zip(names, USERS, strict=True))})
    population = Population(federation, HashedText(8))
    (party,) = population.parties
    hashes = np.unique(party.codes)
    first = CandidateDomain(4, np.unique(hashes >> 4))
    rows = []
    for run in range(RUNS):
        respondents = simulator_named(simulator)(party, np.random.default_rng([5, run]))
        respondents.draw(DrawGroup(Group(1), 0.3))
        respondents.collect(CollectReports(Group(1), first, oracle_named(oracle, Epsilon(2), len(first))))
        row = []
        for chunk, share in ((4, 0.5), (5, 1.0)):
            domain = ChunkDomain.behind(hashes, 8, chunk)
            respondents.draw(DrawGroup(Group(chunk), share))
            request = CollectReports(Group(chunk), domain, oracle_named(oracle, Epsilon(2), len(domain)))
            tally = respondents.collect(request)
            held = domain.slots_of(party.values(domain))
            row += [float(tally.support[slot]) for slot in held] + [float(tally.reports), float(tally.support[-1])]
        rows.append(row)
    return np.array(rows)


def test_exact_and_device_by_device_chunk_tallies_agree() -> None:
    for oracle in ("olh", "krr"):
        exact, devices = _supports("exact", oracle), _supports("devices", oracle)
        error = np.sqrt((exact.var(axis=0, ddof=1) + devices.var(axis=0, ddof=1)) / RUNS)
        distance = np.abs(exact.mean(axis=0) - devices.mean(axis=0)) / np.maximum(error, 1e-9)
        assert distance.max() < WIDEST
        spread = exact.var(axis=0, ddof=1) / devices.var(axis=0, ddof=1)
        assert np.all((spread > 0.6) & (spread < 1.65))
