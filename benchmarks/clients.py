"""Making reports: ours by the vector, as the simulated devices do, against the peers, who have one call each."""

import numpy as np

from benchmarks.measuring import Row, best_of
from benchmarks.peers import compared, multi_freq_reporting, pure_ldp_reporting
from treetop.oracles.random_words import GeneratorWords
from treetop.oracles.registry import find_oracle
from treetop.privacy.epsilon import Epsilon

TITLE = "Making reports"
LIMITS = """
What limits: ours is bound by numpy's random numbers (k-RR and OLH draw two or three for each report, OUE one for each
bit); the peers by one Python call for each report. A real device makes a single report, so none of this matters there.
"""
PEERS = {"krr": ("DE", "GRR"), "oue": ("UE", "UE"), "olh": ("LH", "LH")}
SIZE = 64


def measure() -> list[Row]:
    return [row for name in PEERS for row in against_peers(name)]


def against_peers(name: str) -> list[Row]:
    oracle, randomness = find_oracle(name).over(Epsilon(2.0), SIZE), np.random.default_rng(1)
    reports, words = 200_000, GeneratorWords(randomness)
    values = randomness.integers(SIZE - 1, size=reports).astype(np.int64 if oracle.listed else np.uint64)
    ours = best_of(5, lambda: oracle.perturb(values, words))
    pure, multi = PEERS[name]
    what = f"{name}, {SIZE} slots, {ours / reports * 1e9:,.0f} ns a report, times as fast as"
    return [
        compared(f"{what} pure-ldp", ours, lambda: pure_ldp_reporting(pure, SIZE, 5000) * reports),
        compared(f"{what} multi-freq-ldpy", ours, lambda: multi_freq_reporting(multi, SIZE, 5000) * reports),
    ]
