import math
import pickle
from fractions import Fraction

import pytest
from tests.support.refusals import refused

from treetop.errors import InvalidInput, PromiseBroken
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.guarantee import Guarantee, OncePerUser


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, -math.inf, 701, "0", "nan"])
def test_an_epsilon_that_promises_nothing_does_not_construct(value: float) -> None:
    with refused("epsilon_range", InvalidInput, largest=700.0):
        Epsilon(value)


@pytest.mark.parametrize("value", ["two", None, [2]])
def test_an_epsilon_is_a_number(value: str) -> None:
    with refused("epsilon_not_number", InvalidInput):
        Epsilon(value)


def test_an_epsilon_is_its_number_and_survives_a_pickle() -> None:
    epsilon = pickle.loads(pickle.dumps(Epsilon("0.5")))  # noqa: S301
    assert epsilon == 0.5
    assert isinstance(epsilon, Epsilon)
    assert epsilon.odds == math.exp(0.5)


@pytest.mark.parametrize("text", ["0.001", "0.29999999999999999", "1", "2.50", "16"])
def test_devices_by_the_million_have_the_thresholds_of_the_written_budget(text: str) -> None:
    """0.29999999999999999 is nearest to the double that is written 0.3, which promises less."""
    assert Epsilon(text).odds_below == Budget(text).odds_below
    assert pickle.loads(pickle.dumps(Epsilon(text))).odds_below == Budget(text).odds_below  # noqa: S301
    assert Epsilon(0.3).odds_below == Budget("0.3").odds_below


@pytest.mark.parametrize("value", [1e-4, 16.5, 700.0])
def test_simulations_go_beyond_what_devices_take(value: float) -> None:
    assert Epsilon(value).odds_below == Fraction(math.exp(value))


def test_the_guarantee_reads_as_a_sentence() -> None:
    assert str(Guarantee(Epsilon(2), "krr")) == (
        "every user answers once; no report is more than e^2 = 7.39 times likelier for one item than for another (krr)"
    )
    assert "answers 3 times" in str(Guarantee(Epsilon(2), "krr", reports_per_user=3))


def test_a_group_answers_once() -> None:
    once = OncePerUser(frozenset({"a", "b"}))
    once.spend("a")
    once.spend("b")
    with refused("group_answered", PromiseBroken, group="a"):
        once.spend("a")
    with refused("group_unknown", PromiseBroken, group="c"):
        once.spend("c")
