"""The groups that reports hide in, and the epsilon that a trusted party's users report with."""

from dataclasses import replace
from fractions import Fraction

import pytest

from treetop.errors import InvalidInput
from treetop.mechanisms.deployed_groups import group_sizes
from treetop.mechanisms.query import Query
from treetop.mechanisms.registry import mechanism_named
from treetop.mechanisms.strategy import ItemsAhead, choose
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.shuffling import CentralGuarantee, central_guarantee

CAP = Fraction(4)
WANTED = CentralGuarantee(0.5, 1e-8)


def test_names_and_chunks_are_one_group_and_levels_are_several() -> None:
    panorama = choose(Query(), ItemsAhead(), parties=2, hash_key="00")
    assert group_sizes(panorama.mechanism, panorama.parameters, 9_000) == (9_000,)
    fedpem = mechanism_named("fedpem")
    levels = group_sizes(fedpem, fedpem.parameters(10, Epsilon(2), levels=24), 24_000)
    assert levels == (1_000,) * 24
    assert group_sizes(fedpem, fedpem.parameters(10, Epsilon(2), levels=24), 5) == (1,) * 24  # alone, if there


@pytest.mark.parametrize("mechanism", [None, "canopy"])
def test_the_smallest_party_keeps_what_was_asked_for(mechanism: str | None) -> None:
    strategy = choose(Query(mechanism=mechanism), ItemsAhead(), parties=2, hash_key="00")
    found = strategy.local_epsilon([30_000, 500_000], WANTED, CAP)

    def central(epsilon: Epsilon) -> float:
        groups = group_sizes(strategy.mechanism, replace(strategy.parameters, epsilon=epsilon), 30_000)
        return central_guarantee(groups, epsilon, WANTED.delta).epsilon

    assert central(found) <= 0.5 < central(Epsilon(float(found) + 0.01))


def test_what_devices_would_refuse_is_refused() -> None:
    strategy = choose(Query(), ItemsAhead(), parties=1, hash_key="00")
    with pytest.raises(InvalidInput, match="an epsilon of 4 at most"):
        strategy.local_epsilon([10**6], WANTED, CAP)
    with pytest.raises(InvalidInput, match="delta must be at most 1/N"):
        strategy.local_epsilon([10**6], CentralGuarantee(0.5, 1e-5), CAP)
