"""Every run of a tiny federation, enumerated: what one user holds changes no transcript by more than e^epsilon.

A transcript is more than anybody sees: which level every user joined and what each reported, one by one. Canopy runs
over four levels, so that its weights react to the first level's reports. k-RR stands for all oracles here: the
reports of OLH are k-RR over buckets, given a seed that does not depend on the value.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from treetop.datasets.federation import federation_from_mapping
from treetop.encoding.bit_strings import prefixes_of
from treetop.encoding.item_codecs import codec_named
from treetop.mechanisms.canopy import Canopy
from treetop.mechanisms.dialogue import CollectReports, DrawGroup, Member, Roster
from treetop.mechanisms.hashed_names.mechanism import HashedNames
from treetop.mechanisms.known_items import KnownItems, KnownItemsParameters
from treetop.mechanisms.protocol import Mechanism, P
from treetop.mechanisms.registry import parameters_for
from treetop.oracles.frequency_oracle import Tally
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.population import Population
from treetop.simulation.run import PartyRun, drive
from treetop.simulation.simulated_users import SimulatedUsers
from treetop.trie.candidate_domain import CandidateDomain, ChunkDomain
from treetop.trie.user_groups import Group

EPSILON = Epsilon(1.0)
Transcript = tuple[object, ...]


class Scripted(SimulatedUsers):
    """Users whose coins fall as written; past the end of the script every coin falls on its first side."""

    def __init__(self, values: Sequence[int], bits: int, script: Sequence[int]) -> None:
        crowd = Population(federation_from_mapping({"a": {"1": len(values)}}), codec_named("ids", 8))
        super().__init__(crowd.parties[0], np.random.default_rng(0))
        self.values, self.bits, self.script = values, bits, script
        self.faces: list[int] = []
        self.probability = 1.0
        self.transcript: list[object] = []
        self.shares: list[float] = []
        self.members: dict[int, Group] = {}

    def toss(self, probabilities: Sequence[float]) -> int:
        place = len(self.faces)
        face = self.script[place] if place < len(self.script) else 0
        self.faces.append(len(probabilities))
        self.probability *= probabilities[face]
        return face

    def asked_for(self, value: int, domain: CandidateDomain) -> np.uint64:
        """Return the prefix of a value, or with chunks the hash and the text's only chunk, which stand in its bits."""
        if isinstance(domain, ChunkDomain):
            return np.uint64(value)
        code = value >> 8 if value >= 1 << self.bits else value
        return np.uint64(prefixes_of(np.array([code], dtype=np.uint64), self.bits, domain.length)[0])

    def draw(self, request: DrawGroup) -> None:
        self.shares.append(request.share)
        for user in range(len(self.values)):
            if user not in self.members and (request.share == 1 or self.toss([request.share, 1 - request.share]) == 0):
                self.members[user] = request.group

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        raise AssertionError

    def collect(self, request: CollectReports) -> Tally:
        oracle, domain = request.oracle, request.domain
        support = np.zeros(oracle.size, dtype=np.int64)
        users = [user for user, group in self.members.items() if group == request.group]
        for user in users:
            value = self.asked_for(self.values[user], domain)
            slots = np.append(domain.prefixes == value, not np.any(domain.prefixes == value))
            report = self.toss(np.where(slots, oracle.p, oracle.q).tolist())
            support[report] += 1
            self.transcript.append((request.group.level, user, report, tuple(domain.prefixes.tolist())))
        return Tally(support, len(users))


def laws(mechanism: Mechanism[P], parameters: P, bits: int, values: Sequence[int]) -> dict[Transcript, float]:
    """Return the probability of every transcript, and check that they add up to one."""
    found: dict[Transcript, float] = {}
    script: list[int] | None = []
    roster = Roster.of([Member("a", len(values))])
    while script is not None:
        users = Scripted(values, bits, script)
        party = PartyRun(mechanism.party(parameters, roster, roster.members[0]), users)
        drive(mechanism.server(parameters, roster), {"a": party})
        key = (*users.transcript, *users.shares)
        found[key] = found.get(key, 0.0) + users.probability
        script = following(list(script), users.faces)
    assert sum(found.values()) == pytest.approx(1)
    return found


def following(script: list[int], faces: Sequence[int]) -> list[int] | None:
    """Return the next script in order, or None after the last."""
    script += [0] * (len(faces) - len(script))
    while script and script[-1] + 1 == faces[len(script) - 1]:
        script.pop()
    return [*script[:-1], script[-1] + 1] if script else None


def worst_ratio(laws_by_value: Sequence[dict[Transcript, float]]) -> float:
    ratios = [
        max(one[key] / two[key], two[key] / one[key])
        for one, two in (*pairwise(laws_by_value), (laws_by_value[0], laws_by_value[-1]))
        for key in one
    ]
    return max(ratios)


@pytest.mark.parametrize("score", ["lower_confidence", "sum"])
def test_canopy_with_weights_that_react(score: str) -> None:
    settings = {"bits": 8, "step_bits": 2, "kept": 1, "score": score}
    parameters = parameters_for(Canopy(), 1, EPSILON, "krr", settings)
    found = [laws(Canopy(), parameters, 8, (value, 0b00011011)) for value in (0b00011011, 0b11000000)]
    assert found[0].keys() == found[1].keys()
    assert len({key[-3] for key in found[0]}) > 1  # the share of level 2 depends on the reports of level 1
    assert worst_ratio(found) <= EPSILON.odds * (1 + 1e-9)
    assert worst_ratio(found) == pytest.approx(EPSILON.odds)


def test_the_catalogue() -> None:
    """Three items, and a user whose item is none of them (code 200)."""
    parameters = KnownItemsParameters(1, EPSILON, "krr")
    found = [laws(KnownItems(3, 8), parameters, 8, (value, 1)) for value in (0, 1, 200)]
    assert worst_ratio(found) <= EPSILON.odds * (1 + 1e-9)


def test_hashed_names_and_their_texts() -> None:
    """One user whose 8-bit hash and one chunk differ: she reports the hash or the chunk, and never both."""
    mechanism, settings = HashedNames({}, texts=True), {"bits": 8, "text_chunks": 1, "text_share": 0.5, "kept": 2}
    parameters = parameters_for(mechanism, 1, EPSILON, "krr", settings)
    found = [laws(mechanism, parameters, 8, (value,)) for value in (0x0120, 0x0221)]
    assert {len([part for part in key if isinstance(part, tuple)]) for key in found[0]} == {1}
    assert worst_ratio(found) == pytest.approx(EPSILON.odds)


def test_a_leak_would_be_seen() -> None:
    """With twice the epsilon in the oracle the same enumeration finds e^2."""
    parameters = KnownItemsParameters(1, Epsilon(2.0), "krr")
    found = [laws(KnownItems(3, 8), parameters, 8, (value, 1)) for value in (0, 1)]
    assert worst_ratio(found) == pytest.approx(EPSILON.odds**2)
