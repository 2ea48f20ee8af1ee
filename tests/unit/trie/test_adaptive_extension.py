import math

import numpy as np
import pytest

from treetop.trie.adaptive_extension import (
    ExtensionRule,
    anchor,
    drift,
    extension_number,
    fixed_extension,
    overtaking,
)

F = np.array([0.5, 0.3, 0.1, 0.05, 0.02])


def naive_anchor(f: list[float], k: int) -> int:
    """Eq. 9, letter by letter, with the paper's 1-based f_j."""

    def objective(k_star: int) -> float:
        leading = sum(f[j - 1] for j in range(2, k_star + 1)) / k_star
        trailing = sum(f[s - 1] for s in range(k_star + 1, k + 2)) / (k + 1 - k_star)
        return leading - trailing

    return max(range(2, k + 1), key=lambda k_star: (round(objective(k_star), 12), -k_star))


def test_equation_9_by_hand() -> None:
    # k* = 2: 0.30 / 2 - 0.17 / 3 = 0.0933;  3: 0.40 / 3 - 0.07 / 2 = 0.0983;  4: 0.45 / 4 - 0.02 = 0.0925
    assert anchor(F, 4) == 3


def test_equation_9_takes_the_smallest_anchor_on_a_tie() -> None:
    assert anchor(np.zeros(5), 4) == 2


def test_with_k_1_the_anchor_is_the_first() -> None:
    assert anchor(F, 1) == 1


def test_equation_9_agrees_with_its_naive_twin() -> None:
    randomness = np.random.default_rng(1)
    for _ in range(200):
        k = int(randomness.integers(2, 20))
        f = np.sort(randomness.normal(size=k + 3))[::-1]
        assert anchor(f, k) == naive_anchor(f.tolist(), k)


def test_equation_10_by_hand() -> None:
    # k* = 3, x = 1, 2; gaps 0.05 and 0.08; sigma 0.1: Phi(-0.3536) + 2 Phi(-0.5657) = 0.3618 + 0.5716 = 0.933
    assert drift(F, 4, 3, 0.1, "positive") == 1
    # sigma 0.05: Phi(-0.7071) + 2 Phi(-1.1314) = 0.2398 + 0.2579 = 0.498
    assert drift(F, 4, 3, 0.05, "positive") == 0


def test_equation_10_with_the_printed_range_by_hand() -> None:
    # x = 0, 1: 0 + Phi(-0.3536) = 0.36
    assert drift(F, 4, 3, 0.1, "printed") == 0
    # k = 5, k* = 2 of 12 equal ones: x = -1 .. 5 where places exist, all probabilities 1/2: (-1 + 0 + 15) / 2 = 7 > k
    assert drift(np.ones(12), 5, 2, 0.1, "printed") == 5
    # a printed range may weigh to below zero: k* = 3 of 4, k = 4: x = 0 .. 0
    assert drift(np.ones(4), 4, 3, 0.1, "printed") == 0


def test_eta_is_k_at_most() -> None:
    assert drift(np.zeros(50), 10, 2, 1.0, "positive") == 10


def test_overtaking_is_a_normal_tail() -> None:
    assert overtaking(0.0, 0.3) == 0.5
    assert overtaking(math.sqrt(2) * 0.3, 0.3) == pytest.approx(0.158655, abs=1e-6)
    assert overtaking(1.0, math.inf) == 0.5


@pytest.mark.parametrize(
    ("rule", "t"),
    [
        (ExtensionRule("floor"), 4),
        (ExtensionRule("printed"), 4),
        (ExtensionRule("worst_case"), 5),
        (ExtensionRule("fixed", 0.5), 2),
        (ExtensionRule("fixed", 3.0), 5),
    ],
)
def test_the_extension_number_by_hand(rule: ExtensionRule, t: int) -> None:
    assert extension_number(F, 4, 0.1, rule) == t


def test_the_floor_lifts_a_small_printed_t_to_k() -> None:
    skewed = np.array([0.8, 0.15, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert extension_number(skewed, 5, 0.001, ExtensionRule("printed")) == 2
    assert extension_number(skewed, 5, 0.001, ExtensionRule("floor")) == 5


def test_fewer_than_k_plus_1_candidates_are_all_extended() -> None:
    assert extension_number(F, 5, 0.1, ExtensionRule("fixed", 0.2)) == 5


def test_a_fixed_extension_is_floored_and_at_least_one() -> None:
    assert [fixed_extension(5, factor) for factor in (0.1, 0.5, 1, 3)] == [1, 2, 5, 15]
