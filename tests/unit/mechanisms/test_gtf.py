import numpy as np
import pytest

from treetop.encoding.bit_strings import code_array
from treetop.mechanisms.gtf import entry_of, filter_alike, positives_to_extend, summed_shares
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon
from treetop.trie.support import Support

EXACT = oracle_named("krr", Epsilon(500), 3)
"""Its reports are true."""


def counted(prefixes: list[int], support: list[int]) -> Support:
    """100 reports that stand for 1,000 users."""
    return Support(4, code_array(prefixes, 48), np.array(support), 100, EXACT, 1000)


def naive_filter(ranked: list[int], k: int) -> list[int]:
    """The filter as READINGS tells it, one deletion at a time."""
    deleted: set[int] = set()
    deletions = 0
    kept: list[int] = []
    for place, code in enumerate(ranked):
        if len(kept) == k:
            break
        if place in deleted:
            continue
        kept.append(place)
        for later in range(place + 1, len(ranked)):
            shorter = min(max(code.bit_length(), 1), max(ranked[later].bit_length(), 1))
            alike = (code ^ ranked[later]).bit_count() <= shorter / 2
            if alike and len(ranked) - deletions > k:
                deleted.add(later)
                deletions += 1
    return kept


def test_shares_by_hand() -> None:
    # party one: counts in reports are 40 and 2 of 42; only counts above k = 3 score
    one = counted([1, 5], [40, 2])
    two = counted([5, 9], [10, 30])
    scores = summed_shares(code_array([1, 5, 9], 48), [one, two], 3)
    assert scores == pytest.approx([40 / 42, 10 / 40, 30 / 40])


def test_the_smallest_party_is_the_cheapest_to_enter_through() -> None:
    """A share of 3/4 takes as much as three times of all that a party sends: 60 users where it sends 20."""
    small = counted([9], [2])
    large = counted([1, 5], [40, 10])
    scores = np.array([0.8, 0.75])
    entry = entry_of(scores, [large, small], 3)
    assert entry == pytest.approx(60)
    with_it = summed_shares(code_array([7, 9], 48), [counted([7, 9], [6, 2])], 3)
    assert with_it[0] == pytest.approx(0.75)
    assert entry_of(scores, [small], 8) == pytest.approx(80)  # 8 reports of 100 stand for 80 users of 1,000
    assert entry_of(np.array([1.0]), [small], 3) is None


def test_the_filter_by_hand() -> None:
    # 0b1111 and 0b1101 differ in 1 bit <= 4 / 2: the second goes; 0b0010 has 2 bits and differs in 3 > 1: it stays
    assert filter_alike(code_array([0b1111, 0b1101, 0b0010], 48), 2).tolist() == [0, 2]


def test_the_filter_leaves_k_items() -> None:
    assert filter_alike(code_array([8, 9, 10, 11], 48), 4).tolist() == [0, 1, 2, 3]


def test_zero_counts_as_one_bit() -> None:
    assert filter_alike(code_array([0, 1, 2], 48), 1).tolist() == [0]
    assert naive_filter([0, 1, 2], 1) == [0]


@pytest.mark.parametrize("bits", [16, 80])
def test_the_filter_agrees_with_its_naive_twin(bits: int) -> None:
    randomness = np.random.default_rng(3)
    for _ in range(100):
        ranked = [int(code) for code in randomness.permutation(2**8)[: randomness.integers(0, 40)]]
        k = int(randomness.integers(1, 12))
        assert filter_alike(code_array(ranked, bits), k).tolist() == naive_filter(ranked, k)


@pytest.mark.parametrize(("support", "extended"), [([50, 40, 10], 2), ([45, 40, 35], 2), ([20, 10], 1)])
def test_only_positive_prefixes_are_extended_but_one_always(support: list[int], extended: int) -> None:
    codes = code_array(range(len(support)), 48)
    oracle = oracle_named("krr", Epsilon(1), 3)  # noise alone supports every slot by 17 of 100 reports
    assert positives_to_extend(Support(4, codes, np.array(support), 100, oracle, 100), k=2) == extended
