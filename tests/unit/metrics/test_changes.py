"""What changed from week to week, beyond noise and the choice of users."""

from math import hypot, sqrt

import numpy as np
import pytest

from treetop.metrics.changes import Change, WeeklyCount, change_threshold, changes
from treetop.trie.significance import FALSE_ALARMS

K, USERS, P, Q = 10, 20_000, 0.5, 0.01
RUNS = 2000


def test_marks_of_every_kind() -> None:
    before = [WeeklyCount("tea", 500, 20, 1000), WeeklyCount("rum", 200, 20, 1000), WeeklyCount("ale", 100, 20, 1000)]
    after = [WeeklyCount("rum", 400, 20, 1000), WeeklyCount("gin", 300, 20, 1000), WeeklyCount("tea", 490, 20, 1000)]
    rum, gin, tea, ale = changes(before, after, K)
    assert (rum.item, rum.mark, gin, tea.mark, ale) == ("rum", "up", Change("gin", "new"), None, Change("ale", "gone"))
    variance = 2 * 0.02**2 + (0.2 * 0.8 + 0.4 * 0.6) / 1000
    assert rum.score == pytest.approx(0.2 / sqrt(variance))
    assert [change.mark for change in changes(after, before, K)] == [None, "down", "new", "gone"]
    assert changes([], [], K) == ()


def test_fewer_users_are_no_fall() -> None:
    """Every count halves because half as many answered: no share changed."""
    (found,) = changes([WeeklyCount("tea", 5000, 50, 10_000)], [WeeklyCount("tea", 2500, 40, 5_000)], K)
    assert found == Change("tea", None, 0.0)


def test_the_choice_of_users_counts_once() -> None:
    """Errors of counts to which users add some of their items have it already."""
    once, already = WeeklyCount("tea", 500, 30, 1000), WeeklyCount("tea", 500, hypot(30, sqrt(250)), 1000, sampled=True)
    assert once.variance == pytest.approx(already.variance) == pytest.approx((30**2 + 250) / 1000**2)


def test_without_any_noise_every_difference_is_a_change() -> None:
    nobody, everybody = WeeklyCount("tea", 0, 0, 10), WeeklyCount("tea", 10, 0, 10)
    assert changes([nobody], [everybody], K) == (Change("tea", "up"),)
    assert changes([everybody], [everybody], K) == (Change("tea", None),)


def estimated(shares: np.ndarray, users: int, random: np.random.Generator) -> list[WeeklyCount]:
    """Draw the users of a week, and their reports by the law of an oracle with p and q."""
    held = random.multinomial(users, [*shares, 1 - shares.sum()])[:-1]
    support = random.binomial(held, P) + random.binomial(users - held, Q)
    variance = (held * P * (1 - P) + (users - held) * Q * (1 - Q)) / (P - Q) ** 2
    counts = (support - users * Q) / (P - Q)
    return [WeeklyCount(str(i), c, sqrt(v), users) for i, (c, v) in enumerate(zip(counts, variance, strict=True))]


def false_alarms(*, sampling: bool) -> int:
    random, shares = np.random.default_rng(1), np.array([0.3, 0.15, 0.1, 0.08, 0.07, 0.05, 0.04, 0.03, 0.02, 0.01])
    alarms = 0
    for _ in range(RUNS):
        weeks = estimated(shares, USERS, random), estimated(shares, USERS // 2, random)
        if sampling:
            alarms += any(change.mark for change in changes(*weeks, K))
        else:
            pairs = zip(*weeks, strict=True)
            scores = [(b.share - a.share) / hypot(a.stderr / a.users, b.stderr / b.users) for a, b in pairs]
            alarms += max(map(abs, scores)) > change_threshold(K)
    return alarms


def test_noise_marks_anything_in_five_percent_of_weeks_at_most() -> None:
    """2,000 pairs of weeks: 100 alarms are allowed, 130 have probability 1e-3 at exactly 5 %.

    Without the variance of who answers, alarms would be more than twice as many.
    """
    assert false_alarms(sampling=True) <= 130
    assert false_alarms(sampling=False) > 200
    assert FALSE_ALARMS == 0.05


def test_a_change_of_five_deviations_is_marked() -> None:
    """z is 3.02 for k = 10: a change of 5 deviations is missed in 2.4 % of weeks."""
    random, marked = np.random.default_rng(2), 0
    for _ in range(500):
        before = estimated(np.array([0.1]), USERS, random)
        rise = 5 * sqrt(2 * before[0].variance)
        (found,) = changes(before, estimated(np.array([0.1 + rise]), USERS, random), K)
        marked += found.mark == "up"
    assert marked >= 465
