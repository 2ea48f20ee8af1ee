"""Names that are drawn as somebody looks: what was said once is said again, and the bound holds."""

import numpy as np
import pytest
from scipy.stats import binom
from tests.support.named_users import ASKED, BITS, CHUNKS, CODES, COUNTS, LISTED, LISTED_CHUNKS, NO_NAME, party, request

from treetop.simulation.drawn_names import DrawnNameReports, binomial_tail, chance_below, distinct
from treetop.simulation.population import PartyPopulation

EVERY = np.arange(1 << BITS, dtype=np.uint64)
UNLISTED = EVERY[~np.isin(EVERY, ASKED)]


def drawn(seed: int = 1, weights: tuple[float, ...] = (0.6, 0.25, 0.15)) -> DrawnNameReports:
    return DrawnNameReports(party(), request(weights), np.random.default_rng(seed))


@pytest.mark.parametrize("weights", [(1.0,), (0.6, 0.25, 0.15)])
def test_asked_twice_the_same_is_said_twice(weights: tuple[float, ...]) -> None:
    reports = drawn(weights=weights)
    rows = LISTED_CHUNKS[:, : len(weights) - 1]
    assert sum(reports.kinds) == sum(COUNTS)
    texts = reports.text_support(LISTED, rows).tolist()
    assert reports.text_support(LISTED, rows).tolist() == texts
    names, support = reports.above(30, ASKED)
    assert reports.text_support(LISTED, rows).tolist() == texts
    asked = reports.support(UNLISTED)
    assert reports.support(UNLISTED[::-1]).tolist() == asked[::-1].tolist()
    assert dict(zip(names.tolist(), support.tolist(), strict=True)) == {
        name: number for name, number in zip(UNLISTED.tolist(), asked.tolist(), strict=True) if number >= 30
    }
    for chunk in range(len(weights) - 1):
        first = reports.chunk_support(CODES[-1:], chunk)
        both = reports.chunk_support(np.array([800, 900], dtype=np.uint64), chunk)
        assert both[1].tolist() == first[0].tolist()


@pytest.mark.parametrize("least", [-3, 0, 10, 30, 40, 200, 10_000])
def test_names_above_are_those_whose_support_is_found_afterwards(least: int) -> None:
    reports = drawn(2, (1.0,))
    known = reports.support(UNLISTED[:50])
    names, support = reports.above(least, ASKED)
    everything = reports.support(UNLISTED)
    assert everything[:50].tolist() == known.tolist()
    assert names.tolist() == UNLISTED[everything >= least].tolist()
    assert support.tolist() == everything[everything >= least].tolist()


def test_a_second_bound_sees_what_the_first_left() -> None:
    reports = drawn(3, (1.0,))
    high, _ = reports.above(45, ASKED)
    low, support = reports.above(38, ASKED)
    again, same = reports.above(45, ASKED)
    assert set(high.tolist()) < set(low.tolist())
    assert again.tolist() == high.tolist()
    assert same.tolist() == support[np.isin(low, high)].tolist()
    everything = reports.support(UNLISTED)
    assert low.tolist() == UNLISTED[everything >= 38].tolist()


def test_listed_names_are_not_bound_by_what_others_reach() -> None:
    """A name that the bound was not asked about may lie above it: here every name must."""
    reports = drawn(4, (1.0,))
    reports.above(5, np.append(ASKED, UNLISTED[:20]))
    assert reports.support(UNLISTED[:20]).min() >= 5


def test_texts_that_were_counted_are_not_looked_at_by_kind() -> None:
    reports = drawn(5)
    reports.text_support(LISTED, LISTED_CHUNKS)
    for name in (17, 300):
        with pytest.raises(AssertionError, match="not looked at by kind afterwards"):
            reports.support(np.array([name], dtype=np.uint64))
        with pytest.raises(AssertionError, match="not looked at by kind afterwards"):
            reports.chunk_support(np.array([name], dtype=np.uint64), 0)
    with pytest.raises(AssertionError, match="another text with the same name"):
        reports.text_support(np.array([17], dtype=np.uint64), np.array([[4, 5]], dtype=np.uint8))
    assert reports.support(np.array([5, 700, NO_NAME], dtype=np.uint64)).min() > 0


def test_texts_that_are_counted_later_are_counted_kind_by_kind() -> None:
    reports = drawn(6)
    by_name = reports.support(CODES)
    by_chunks = [reports.chunk_support(CODES, chunk)[np.arange(5), CHUNKS[:, chunk]] for chunk in range(2)]
    assert reports.text_support(CODES, CHUNKS).tolist() == (by_name + sum(by_chunks)).tolist()


def test_all_users_report_one_kind() -> None:
    """The holders of a chunk, the users left out by whole names: nobody twice, nobody not at all."""
    reports = drawn(7)
    reports.chunk_support(CODES, 0)
    _, holders = reports._chunk_holders
    left = np.array(COUNTS[:-1]) - reports._name_holders[:-1]
    assert holders.sum(axis=1).tolist() == left.tolist()
    assert (reports._chunk_sizes + holders.sum(axis=0)).tolist() == list(reports.kinds[1:])
    without_code = COUNTS[-1] - reports._name_holders[-1]
    assert reports._chunk_sizes.sum() == without_code


def test_chunks_of_a_population_without_texts_are_refused() -> None:
    reports = DrawnNameReports(party(texts=False), request(), np.random.default_rng(1))
    with pytest.raises(AssertionError, match="not encoded as hashed texts"):
        reports.text_support(LISTED, LISTED_CHUNKS)


def test_a_party_whose_users_have_no_code_answers() -> None:
    nobody = PartyPopulation("one", BITS, CODES[:0], np.array([0, 500]), CHUNKS[:0])
    reports = DrawnNameReports(nobody, request(), np.random.default_rng(1))
    assert (reports.text_support(LISTED, LISTED_CHUNKS) < 150).all()
    assert reports.support(np.array([NO_NAME], dtype=np.uint64))[0] > 120
    assert len(reports.above(0, ASKED)[0]) == len(UNLISTED)


def test_the_places_of_codes_are_found() -> None:
    asked = np.array([1, 5, 17, 300, 900, 1000], dtype=np.uint64)
    assert party().holding(asked).tolist() == [0, 1, 2, 4]


def test_names_are_made_distinct() -> None:
    assert distinct(np.array([3, 1, 3, 2, 1])).tolist() == [1, 2, 3]
    assert distinct(np.array([], dtype=np.uint64)).tolist() == []


@pytest.mark.parametrize(
    ("trials", "chance", "least"),
    [(160, 0.125, 30), (160, 0.125, 0), (10**6, 0.25, 251_000), (10**6, 0.25, 0), (5, 0.5, 5)],
)
def test_the_tail_is_that_of_a_binomial_number(trials: int, chance: float, least: int) -> None:
    tail = binomial_tail(trials, chance, least)
    expected = binom.pmf(least + np.arange(len(tail)), trials, chance)
    np.testing.assert_allclose(tail, expected, rtol=1e-7, atol=1e-300)
    assert tail.sum() == pytest.approx(binom.sf(least - 1, trials, chance), rel=1e-7)
    assert chance_below(trials, chance, least) == pytest.approx(binom.cdf(least - 1, trials, chance), rel=1e-7)


def test_a_chance_that_is_small_is_precise() -> None:
    """A name that was left below a bound which it cannot be below would be drawn forever."""
    for limit in (0, 1, 5, 20, 100):
        assert chance_below(1000, 0.125, limit) == pytest.approx(binom.cdf(limit - 1, 1000, 0.125), rel=1e-7, abs=0)
    assert chance_below(10**6, 0.25, 1000) == 0


def test_nobody_has_more_support_than_there_are_reports() -> None:
    assert len(binomial_tail(5, 0.5, 6)) == 0
