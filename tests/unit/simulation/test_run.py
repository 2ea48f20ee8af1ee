import numpy as np
import pytest
from tests.support.populations import population, three_parties
from tests.support.refusals import refused

from treetop.encoding.bit_strings import code_array
from treetop.errors import PromiseBroken, UnknownName
from treetop.mechanisms.dialogue import CollectReports, Dialogue, DivideUsers, Findings, Request, ask
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.run import PartyRun, drive, simulator_named
from treetop.simulation.simulated_users import DeviceByDeviceUsers, ExactUsers, SimulatedUsers
from treetop.trie.global_ranking import GlobalRanking
from treetop.trie.support import CandidateDomain
from treetop.trie.user_groups import Group

BOTH = pytest.mark.parametrize("kind", [ExactUsers, DeviceByDeviceUsers])


class Nonsense(Request[None]):
    """A request that nobody can answer."""


def test_simulators_by_name() -> None:
    assert simulator_named("exact") is ExactUsers
    with refused("unknown_name", UnknownName, kind="simulator", found="device", nearest="devices"):
        simulator_named("device")


@BOTH
def test_a_group_is_never_asked_twice(kind: type[SimulatedUsers]) -> None:
    respondents = kind(three_parties().parties[0], np.random.default_rng(1))
    respondents.divide(DivideUsers({Group(1): 100, Group(2): respondents.party.users - 100}))
    question = CollectReports(Group(1), CandidateDomain(1, code_array([0, 1], 8)), oracle_named("krr", Epsilon(1), 2))
    assert respondents.collect(question).reports == 100
    with refused("group_answered", PromiseBroken, group="the group of level 1 (estimate)"):
        respondents.collect(question)


@BOTH
@pytest.mark.parametrize("oracle", ["krr", "oue", "olh"])
def test_users_without_a_code_answer_none_of_these(kind: type[SimulatedUsers], oracle: str) -> None:
    """At a huge epsilon every answer is true: 30 of 100 users have no code, 50 hold neither candidate."""
    party = population({"a": {"0": 15, "255": 5, "100": 50, "none": 30}}).parties[0]
    respondents = kind(party, np.random.default_rng(1))
    respondents.divide(DivideUsers({Group(1): 100}))
    domain = CandidateDomain(8, code_array([0, 255], 8))
    known = oracle_named(oracle, Epsilon(30), 2)
    estimates = known.estimate(respondents.collect(CollectReports(Group(1), domain, known)))
    assert estimates[:2] == pytest.approx([0.15, 0.05], abs=0.35 if oracle == "oue" else 1e-2)


def test_a_party_that_asks_nonsense_is_a_bug() -> None:
    def party() -> Dialogue[Findings]:
        yield from ask(Nonsense())
        raise AssertionError

    respondents = ExactUsers(three_parties().parties[0], np.random.default_rng(1))
    with pytest.raises(AssertionError, match="a party cannot ask"):
        PartyRun(party(), respondents).deliver(None)


def test_a_server_that_asks_nonsense_is_a_bug() -> None:
    def server() -> Dialogue[GlobalRanking]:
        yield from ask(Nonsense())
        raise AssertionError

    with pytest.raises(AssertionError, match="a server cannot ask"):
        drive(server(), {})
