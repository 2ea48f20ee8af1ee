import pytest

from treetop.trie.user_groups import joining_share, level_weights, seeded_weights


def test_the_ramp_of_six_levels() -> None:
    assert level_weights(6, "ramp", 0.9) == [0.5, 0.4, 0.6, 0.8, 1.0, 2.0]
    assert level_weights(6, "adaptive", 0.0) == level_weights(6, "ramp", 0.0)


def test_adaptive_weights_become_equal_where_nothing_is_covered() -> None:
    assert level_weights(6, "adaptive", 1.0) == [0.5, 1.0, 1.0, 1.0, 1.0, 2.0]
    assert level_weights(6, "adaptive", 0.7) == [0.5, 0.7, 0.7, 0.8, 1.0, 2.0]


@pytest.mark.parametrize("rule", ["adaptive", "ramp", "equal"])
def test_one_and_two_levels(rule: str) -> None:
    assert level_weights(1, rule, 0.5) == [2.0]  # type: ignore[arg-type]
    first = 1.0 if rule == "equal" else 0.5
    assert level_weights(2, rule, 0.5) == [first, 2.0]  # type: ignore[arg-type]


def test_everybody_left_joins_the_last_level() -> None:
    weights = level_weights(4, "equal", 0.0)
    assert [joining_share(weights, h) for h in (1, 2, 3, 4)] == [1 / 5, 1 / 4, 1 / 3, 1.0]


def test_the_last_level_of_a_seeded_search_gets_65_percent() -> None:
    weights = seeded_weights(level_weights(6, "ramp", 0.0))
    assert weights[:-1] == level_weights(6, "ramp", 0.0)[:-1]
    assert weights[-1] / sum(weights) == pytest.approx(0.65)
    assert seeded_weights([2.0]) == [2.0]
