"""Names in the audit's enumeration: what the others say is given, and the target's kind and report are chosen."""

from fractions import Fraction

import numpy as np
import pytest
from tests.support.named_users import names
from tests.support.tiny_panorama import tiny_panorama

from treetop.audit.enumerated_users import Choices, EnumeratedUsers, Target, UserBehaviour, name_key
from treetop.audit.transcripts import Scene, end_to_end_checks, worst_odds
from treetop.errors import PromiseBroken
from treetop.mechanisms.dialogue import CollectNames
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.registry import oracle_named
from treetop.oracles.walsh import WalshHashing
from treetop.oracles.walsh.device import chunk_key
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.trie.user_groups import Group

ONE = Budget("1")
REQUEST = CollectNames(8, oracle_named(KRandomizedResponse(), Epsilon(1), 1 << 8), (0.7, 0.2, 0.1))


def test_somebody_says_every_kind() -> None:
    """The first one holds 3, the second says that she has no name, the third holds 3 as well."""
    choices = Choices([], 1)
    users = EnumeratedUsers(8, [3], 0b0010, choices, None)
    reports = users.name_reports(REQUEST)
    assert choices.asked == [REQUEST]
    assert reports.kinds == (1, 1, 1)
    assert reports.support(names(3, 4, 255)).tolist() == [1, 0, 0]
    assert [found.tolist() for found in reports.above(1, names(4))] == [[3], [1]]
    assert [found.tolist() for found in reports.above(1, names(3))] == [[], []]
    key = chunk_key(3, 1, 3, 8)
    assert reports.chunk_support(names(3), 1).shape == (1, 256)
    assert reports.chunk_support(names(3), 1)[0, 3] == 1
    assert reports.chunk_support(names(3), 1).sum() == sum(chunk_key(3, 1, value, 8) == key for value in range(256))
    assert reports.text_support(names(3, 3), np.array([[3, 3], [3, 4]], dtype=np.uint8)).tolist() == [2, 1]
    with pytest.raises(PromiseBroken):
        users.name_reports(REQUEST)


def test_the_target_draws_her_kind_by_the_weights_and_reports_it() -> None:
    """The script: the second kind, then the first outcome of all."""
    choices = Choices([1, 0], 2)
    target = Target((3, None), KRandomizedResponse(), UserBehaviour(), choices)
    reports = EnumeratedUsers(8, [3], 0, choices, target).name_reports(REQUEST)
    assert target.groups == {Group(2)}
    assert reports.kinds == (1, 2, 1)
    weight = Fraction(0.2) / sum(map(Fraction, REQUEST.weights))
    kind, said = choices.said
    assert kind == (Group(2),)
    chances = [chance / weight for chance in choices.probabilities]
    own = [said == name_key(value, 1, 8) for value in (3, None)]
    assert [chance > Fraction(1, 100) for chance in chances] == own


def test_what_a_device_reports_of_its_name() -> None:
    assert [name_key(value, 0, 8) for value in (0, 7, None)] == [0, 7, 255]
    assert [name_key(value, 2, 8) for value in (7, None)] == [chunk_key(7, 1, 7, 8), 255]


def test_every_transcript_of_panorama_is_within_the_budget() -> None:
    """Two kinds, two seeds, four outcomes: 16 transcripts for each of 16 patterns of what the others say."""
    for malicious in (False, True):
        odds, number = worst_odds(Scene(tiny_panorama(), malicious, oracle=WalshHashing()), ONE, 600)
        assert number == 256
        assert Fraction(odds.larger) <= ONE.odds_below * Fraction(odds.smaller)
        assert Fraction(odds.larger) > Fraction(2718, 1000) * Fraction(odds.smaller)


@pytest.mark.slow
def test_the_audit_of_panorama_passes_through_k_rr() -> None:
    exact, tight, malicious = end_to_end_checks(tiny_panorama(), quick=True)
    names_of = ("end_to_end_panorama", "tight_panorama", "end_to_end_panorama_malicious")
    assert (exact.name, tight.name, malicious.name) == names_of
    assert exact.passed
    assert tight.passed
    assert malicious.passed
