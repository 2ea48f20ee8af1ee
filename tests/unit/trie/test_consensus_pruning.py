from typing import Any

import numpy as np
import pytest

from treetop.encoding.bit_strings import code_array
from treetop.oracles.registry import oracle_named
from treetop.privacy.epsilon import Epsilon
from treetop.trie.consensus_pruning import (
    PruningCandidates,
    ascending,
    by_contrast,
    consensus,
    entering_indices,
    intersection_sizes,
    pruned_domain,
)
from treetop.trie.support import CandidateDomain, Support

ORACLE = oracle_named("krr", Epsilon(1), 8)
ORACLE.p = 1.0
ORACLE.q = 0.5


def ranked(prefixes: list[int], frequencies: list[float]) -> Support:
    """2,000 reports, half of which support anything: a frequency f takes 1,000 (1 + f) of them."""
    support = np.rint(1000 * (1 + np.array(frequencies))).astype(np.int64)
    return Support(4, code_array(prefixes, 48), support, 2000, ORACLE, 2000)


def codes(*values: int) -> Any:
    return code_array(values, 48)


def test_delta_is_both_ends_of_the_whole_domain() -> None:
    told = PruningCandidates.of(ranked([5, 3, 9, 1, 7], [0.5, 0.2, 0.1, 0.0, -0.1]), k=1)
    assert told.infrequent.tolist() == [7, 1]
    assert told.frequent.tolist() == [5, 3]
    assert told.frequencies.tolist() == pytest.approx([0.5, 0.2])
    assert told.bits == 4 * 4 + 2 * 32


def test_a_domain_shorter_than_2k_is_told_whole() -> None:
    told = PruningCandidates.of(ranked([5, 3], [0.5, 0.2]), k=4)
    assert told.infrequent.tolist() == [3, 5]
    assert told.frequent.tolist() == [5, 3]


def test_validated_prefixes_come_by_rising_frequency() -> None:
    assert ascending(ranked([5, 3, 9], [0.5, 0.2, 0.1])).tolist() == [9, 3, 5]


def test_the_contrast_ranks_what_is_frequent_there_and_absent_here() -> None:
    told = PruningCandidates(4, codes(), codes(5, 3, 9), np.array([0.7, 0.2, 0.001]))
    # phi: 0.7 / 0.001 = 700, 0.2 / (0 + tau) = 2e10 (a negative estimate is clipped), 0.001 / 0.7 = 0.0014
    validated = ranked([9, 5, 3], [0.7, 0.001, -0.3])
    assert by_contrast(told, validated).tolist() == [3, 5, 9]


def test_equal_contrasts_go_by_the_smaller_prefix() -> None:
    told = PruningCandidates(4, codes(), codes(9, 3, 5), np.array([0.2, 0.2, -0.1]))
    assert by_contrast(told, ranked([3, 5, 9], [0.1, 0.1, 0.1])).tolist() == [3, 9, 5]


def test_intersections_of_growing_heads() -> None:
    assert intersection_sizes(entering_indices(codes(1, 2, 3, 4), codes(1, 3, 2, 4))) == [1, 1, 3, 4]
    assert intersection_sizes(entering_indices(codes(1, 2, 3, 4), codes(4, 3, 2, 1))[:2]) == [0, 0]


def test_the_k_prime_score_by_hand() -> None:
    # k' = 1: 1 / (1 * 2) - 0.25 (1/2)^2 = 0.4375;  k' = 2: 1 / (2 * 4) - 0.25 (2/3)^2 = 0.0139
    assert consensus(codes(1, 2, 3, 4), codes(1, 3, 2, 4), 2, 1.0, 0.25).tolist() == [1]
    # k' = 1: 0 - 0.25 (2/2)^2;  k' = 2: 2 / (2 * 1.01^2) - 0.25 (1/3)^2 = 0.95
    assert consensus(codes(1, 2, 3), codes(2, 1, 3), 2, 0.01, 0.25).tolist() == [1, 2]


def test_the_smallest_k_prime_wins_a_tie_even_with_nothing_to_prune() -> None:
    # gamma = 0 and no intersection for any k': all scores are 0
    assert consensus(codes(1, 2, 3, 4), codes(4, 3, 2, 1), 2, 1.0, 0.0).tolist() == []


def test_a_domain_is_pruned_only_if_enough_is_left() -> None:
    domain = CandidateDomain(4, codes(1, 2, 3, 4, 5))
    remaining, pruned = pruned_domain(domain, codes(2, 9), codes(4), least=3)
    assert (remaining.prefixes.tolist(), pruned) == ([1, 3, 5], True)
    remaining, pruned = pruned_domain(domain, codes(2, 9), codes(4), least=4)
    assert (remaining, pruned) == (domain, False)
