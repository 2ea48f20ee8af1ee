"""A whole search: PEM on 1 M users of one party, device by device with OLH, against the one peer that has PEM."""

from importlib import import_module

import numpy as np

from benchmarks.measuring import Row, best_of
from benchmarks.peers import compared
from treetop.datasets.federation import Federation, PartyItems
from treetop.encoding.item_codecs import codec_named
from treetop.mechanisms.registry import mechanism_named
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.population import Population
from treetop.simulation.run import run

TITLE = "A whole search: PEM with OLH on 1 M users"
LIMITS = """
What limits: the peer counts every prefix of a level for every report, candidate or not, with one Python call each; ours
counts candidates only. Device by device, ours spends its time on shuffling users and drawing reports; the cost of the
exact simulation is levels x candidates, whatever the number of users.
"""
USERS, BITS, STEP, PEER_USERS = 1_000_000, 12, 2, 1000


def measure() -> list[Row]:
    crowd, items = population()
    fedpem = mechanism_named("fedpem")
    parameters = fedpem.parameters(10, Epsilon(2.0), "olh", bits=BITS, levels=BITS // STEP)
    rows = []
    for simulator in ("devices", "exact"):
        ours = best_of(3, lambda s=simulator: run(fedpem, parameters, crowd, seed=1, simulator=s))  # type: ignore[misc]
        what = f"fedpem, {simulator}, {ours / USERS * 1e9:,.1f} ns a user, times as fast as pure-ldp's PEM"
        rows.append(compared(what, ours, lambda: peer_seconds(items) * USERS))
    return rows


def population() -> tuple[Population, list[int]]:
    """One party whose 2^12 items follow Zipf's law."""
    randomness = np.random.default_rng(1)
    weights = 1 / np.arange(1, (1 << BITS) + 1)
    counts = randomness.multinomial(USERS, weights / weights.sum())
    items = randomness.permutation(1 << BITS)
    party = PartyItems("party", np.arange(1 << BITS), counts)
    names = [str(item) for item in items.tolist()]
    held = randomness.choice(items, size=PEER_USERS, p=weights / weights.sum()).tolist()
    return Population(Federation("one party", names, (party,)), codec_named("ids", BITS)), held


def peer_seconds(items: list[int]) -> float:
    """Return the peer's seconds for one user, devices and server together."""
    peer = import_module("pure_ldp.heavy_hitters")

    def search() -> None:
        client, server = peer.PEMClient(2.0, 0, BITS, STEP), peer.PEMServer(2.0, 0, BITS, STEP)
        for item in items:
            server.aggregate(client.privatise(f"{item:0{BITS}b}"))
        server.find_heavy_hitters(10)

    return best_of(1, search) / len(items)
