"""The central guarantee: the clones bound against its definition, against enumeration, and as a party's sentence."""

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import comb, exp, lgamma, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from treetop.audit.central_guarantee import exact_deltas, shuffled_check
from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.registry import ORACLES
from treetop.privacy.budget import Budget, exponential_bounds
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.shuffling import (
    CELLS,
    MAX_REPORTS,
    CentralGuarantee,
    Clones,
    asked_guarantee,
    central_guarantee,
    epsilon_choice,
    local_epsilon,
    refuse_large_delta,
    usual_delta,
)
from treetop.wording import Note

CAP = Fraction(4)


def exact_bound(reports: int, odds: Fraction, c: Fraction) -> Fraction:
    """Return H_c(P || Q) as it is defined, term by term."""
    p, clone = odds / (odds + 1), 1 / odds
    total = Fraction(0)
    for m in range(reports):
        chance = comb(reports - 1, m) * clone**m * (1 - clone) ** (reports - 1 - m) / 2**m
        for a in range(m + 2):
            one, other = comb(m, a - 1) if a else 0, comb(m, a)
            total += chance * max(p * one + (1 - p) * other - c * ((1 - p) * one + p * other), Fraction(0))
    return total


def inverted(reports: int, epsilon: float, delta: float) -> float:
    """Return the least central epsilon by halving."""
    clones, low, high = Clones(reports, epsilon), 0.0, epsilon
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if clones.delta(middle)[0] <= delta else (middle, high)
    return high


@pytest.mark.parametrize("reports", [1, 2, 3, 7, 30])
@pytest.mark.parametrize("epsilon", ["0.1", "1", "4", "8"])
def test_the_bound_is_the_definition_rounded_up(reports: int, epsilon: str) -> None:
    clones, amount = Clones(reports, float(epsilon)), Fraction(epsilon)
    for part in (Fraction(1, 50), Fraction(1, 3), Fraction(9, 10), Fraction(999, 1000)):
        exact = exact_bound(reports, exponential_bounds(amount)[1], exponential_bounds(part * amount)[0])
        found = Fraction(float(clones.delta(float(part * amount))[0]))
        assert exact <= found <= exact * (1 + Fraction(1, 10**9)) + Fraction(1, 2**96) + Fraction(1, 10**12) * exact


@pytest.mark.parametrize(("reports", "epsilon", "central"), [(300, 1.0, 0.3), (9_000, 4.0, 0.8), (30_000, 2.0, 0.1)])
def test_stretches_of_clones_cost_little(reports: int, epsilon: float, central: float) -> None:
    """The same sum in logarithms over every value of C, which no stretch shortens."""
    odds, c, others, total = exp(epsilon), exp(central), reports - 1, 0.0
    mean, deviation = others / odds, (others / odds) ** 0.5
    p, q = odds / (odds + 1), 1 / (odds + 1)
    for m in range(max(0, int(mean - 8 * deviation)), min(others, int(mean + 8 * deviation)) + 1):
        chance = exp(_log_choose(others, m) - m * epsilon + (others - m) * log(1 - 1 / odds))
        t = int((m + 1) * (c * p - q) / ((1 + c) * (p - q))) + 1
        equal = [exp(_log_choose(m, a) - m * log(2)) for a in range(t - 1, min(m, t + 8 * int(m**0.5) + 8) + 1)]
        total += chance * max((p - c * q) * equal[0] - (c - 1) * sum(equal[1:]), 0.0) if equal else 0.0
    found = float(Clones(reports, epsilon).delta(central)[0])
    assert total * (1 - 1e-6) <= found <= total * 1.03


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def test_known_figures() -> None:
    """As they were computed independently, to the digits that are given."""
    table = {10**4: (0.069, 0.197, 0.755, 8), 10**5: (0.021, 0.059, 0.215, 7.8), 10**6: (0.006, 0.018, 0.064, 0.557)}
    for reports, row in table.items():
        for epsilon, known in zip((1.0, 2.0, 4.0, 8.0), row, strict=True):
            digits = 1 if known > 1 else 3
            assert round(inverted(reports, epsilon, 1e-8), digits) == known


@pytest.mark.parametrize("name", ["krr", "olh", "walsh"])
def test_no_enumerated_delta_is_above_the_bound(name: str) -> None:
    check = shuffled_check(ORACLES[name], quick=False)
    assert check.passed
    assert 0.5 < check.measured < 1


def test_no_enumerated_delta_of_unary_reports_is_above_the_bound() -> None:
    assert shuffled_check(ORACLES["oue"], quick=True).passed


def test_a_device_that_says_too_much_is_above_the_bound() -> None:
    """The enumeration is no formality: a face made for a larger budget shows."""
    face = ORACLES["krr"].device_face(Budget("1.5").odds_below, 3)
    (exact,) = exact_deltas(face, range(3), 4, [exponential_bounds(Fraction(1, 2))[0]])
    assert exact > Fraction(float(Clones(4, 1.0).delta(0.5)[0]))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_reports_that_are_private_enough_keep_the_bound(data: st.DataObject) -> None:
    """Extreme laws: every report has one of two probabilities, e^epsilon apart, whatever is held."""
    reports, epsilon = data.draw(st.integers(1, 4)), data.draw(st.sampled_from([0.5, 1.0, 3.0]))
    outputs = data.draw(st.integers(2, 4))
    high = data.draw(st.lists(st.lists(st.booleans(), min_size=outputs, max_size=outputs), min_size=3, max_size=3))
    raw = np.where(np.array(high), exp(epsilon), 1.0)
    laws = raw / raw.sum(axis=1, keepdims=True)
    local = float(np.log((laws[:, None, :] / laws[None, :, :]).max()))
    central = data.draw(st.floats(0.01, 1.0)) * epsilon
    held = data.draw(st.lists(st.integers(0, 2), min_size=reports - 1, max_size=reports - 1))
    one, other = ({(0,) * outputs: 1.0} for _ in range(2))
    for seen, value in ((one, 0), (other, 1)):
        for sender in (*held, value):
            grown: dict[tuple[int, ...], float] = {}
            for histogram, chance in seen.items():
                for kind in range(outputs):
                    more = (*histogram[:kind], histogram[kind] + 1, *histogram[kind + 1 :])
                    grown[more] = grown.get(more, 0.0) + chance * laws[sender, kind]
            seen.clear()
            seen.update(grown)
    exact = sum(max(chance - exp(central) * other[seen], 0.0) for seen, chance in one.items())
    assert exact <= float(Clones(reports, max(local, 0.01)).delta(central)[0]) + 1e-12


def test_more_reports_hide_better_and_a_larger_central_epsilon_needs_less_luck() -> None:
    central = np.linspace(0.001, 2, 200)
    for epsilon in (0.5, 2.0):
        deltas = [Clones(reports, epsilon).delta(central) for reports in (1, 2, 3, 10, 100, 1000, 50_000, 10**6)]
        assert all((more <= fewer * (1 + 1e-9) + 1e-28).all() for fewer, more in pairwise(deltas))
        assert all((np.diff(curve) <= 1e-28).all() for curve in deltas)
    assert Clones(10, 2.0).delta(2.0)[0] == 0


def test_tables_stay_small() -> None:
    for reports in (10**4, 10**6, MAX_REPORTS):
        assert Clones(reports, 4.0)._equal.size <= 3 * CELLS
    assert Clones(MAX_REPORTS * 9, 8.0).delta(1.0) == Clones(MAX_REPORTS, 8.0).delta(1.0)
    assert np.isfinite(Clones(5, 700.0).delta(1.0)).all()
    with pytest.raises(InvalidInput, match="one report at least, found 0"):
        Clones(0, 1.0)


def test_a_party_has_the_guarantee_of_its_smallest_group_with_half_of_its_reports() -> None:
    epsilon, delta = Epsilon(2), 1e-8
    found = central_guarantee([16_000, 0, 4_000, 60_000], epsilon, delta)
    assert found == central_guarantee([4_000], epsilon, delta)
    deltas = Clones(2_000, 2.0).delta([found.epsilon, found.epsilon * 0.98])
    assert deltas[0] <= delta < deltas[1]
    assert central_guarantee([], epsilon, delta).epsilon <= 0.001
    assert central_guarantee([0], epsilon, delta).epsilon <= 0.001
    assert central_guarantee([1, 80_000], epsilon, delta).epsilon == 2


@pytest.mark.parametrize("epsilon", [400.0, 700.0])
def test_nobody_hides_where_epsilon_is_huge(epsilon: float) -> None:
    assert central_guarantee([10_000], Epsilon(epsilon), 1e-8).epsilon == epsilon


@pytest.mark.parametrize("reports", [100, 3_000, 70_000, 123_457, 10**7])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_shared_curves_are_never_below_the_bound(reports: int, epsilon: float) -> None:
    for delta in (1e-6, 1e-8, 1e-12):
        found = central_guarantee([reports], Epsilon(epsilon), delta).epsilon
        least = inverted(reports // 2, epsilon, delta)
        assert least <= found <= least * 1.02 or found == epsilon


def test_what_is_said_of_a_party() -> None:
    assert CentralGuarantee(0.311, 1e-8).beside(Epsilon(4)) == (
        "towards the server and readers: (0.311, 1e-8)-DP if the party is honest; towards the party: 4-LDP"
    )
    assert CentralGuarantee(3.7, 1e-8).beside(Epsilon(4)) == (
        "towards the server and readers: 4-LDP as well, since its groups are too small to gain 10 % by shuffling; "
        "towards the party: 4-LDP"
    )


def test_less_than_was_asked_for_is_said() -> None:
    found = CentralGuarantee(1.2, 1e-8)
    assert found.shortfall(None) == found.shortfall(CentralGuarantee(1.2, 1e-8)) == []
    (said,) = found.shortfall(CentralGuarantee(1.0, 1e-8))
    assert said == Note("central_shortfall", promised="(1.2, 1e-8)-DP", wanted="(1, 1e-8)-DP")


@pytest.mark.parametrize(
    ("epsilon", "delta", "told"),
    [
        (0.0, 1e-8, "above 0 and at most 700, found 0"),
        (float("nan"), 1e-8, "found nan"),
        (1.0, 1.0, "below 1, found 1"),
    ],
)
def test_a_guarantee_that_says_nothing_is_refused(epsilon: float, delta: float, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        CentralGuarantee(epsilon, delta)


def central_of(*groups: int) -> Callable[[Epsilon], float]:
    return lambda epsilon: central_guarantee(groups, epsilon, 1e-8).epsilon


def test_the_local_epsilon_is_the_largest_that_keeps_a_central_one() -> None:
    central = central_of(10_000, 20_000)
    found = local_epsilon(central, CentralGuarantee(1.0, 1e-8), CAP)
    assert central(found) <= 1 < central(Epsilon(float(found) + 0.01))
    assert local_epsilon(central_of(1), CentralGuarantee(0.5, 1e-8), CAP) == Epsilon(0.5)
    said = epsilon_choice(found, CentralGuarantee(1.0, 1e-8), 30_000)
    assert said == Note("epsilon_from_central", epsilon=float(found), wanted="(1, 1e-8)-DP", users=30_000)


def test_a_cap_is_not_raised() -> None:
    central = central_of(1_000_000)
    with pytest.raises(
        InvalidInput, match=r"an epsilon of 4 at most, .* ask for a central epsilon of 0\.09"
    ) as refused:
        local_epsilon(central, CentralGuarantee(1.0, 1e-8), CAP)
    instead = float(str(refused.value).split()[-3])
    assert local_epsilon(central, CentralGuarantee(instead, 1e-8), CAP) == Epsilon(4)
    with pytest.raises(InvalidInput, match=r"reports of epsilon 0\.01 keep, found 0\.001"):
        local_epsilon(central_of(1), CentralGuarantee(0.001, 1e-8), CAP)


def test_a_wish_is_whole_or_none() -> None:
    assert asked_guarantee(None, None, None, 2.0) is None
    assert asked_guarantee("party", 1.0, None, None) == CentralGuarantee(1.0, 1e-8)
    assert asked_guarantee("party", 1.0, 1e-9, None) == CentralGuarantee(1.0, 1e-9)
    for trust, central, delta in ((None, 1.0, None), ("party", None, None), (None, None, 1e-8)):
        with pytest.raises(InvalidInput, match="trust 'party' and a central epsilon together"):
            asked_guarantee(trust, central, delta, None)
    with pytest.raises(InvalidInput, match="leave out epsilon 2"):
        asked_guarantee("party", 1.0, None, "2")
    with pytest.raises(UnknownName, match="unknown trust 'server'"):
        asked_guarantee("server", 1.0, None, None)


def test_delta_is_below_one_over_the_users() -> None:
    refuse_large_delta(1e-8, 10**6)
    with pytest.raises(InvalidInput, match="at most 1/N = 1e-06 for 1,000,000 users, found 2e-06"):
        refuse_large_delta(2e-6, 10**6)
    assert [usual_delta(users) for users in (1, 10**6, 10**8)] == [1e-8, 1e-8, 1e-9]
    assert all(usual_delta(users) < 1 / users for users in (1, 10**8, 10**9, 10**10 - 1))
