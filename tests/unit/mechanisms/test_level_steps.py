import pytest

from treetop.mechanisms.gtf import Gtf
from treetop.mechanisms.level_steps import TrieMechanism, TrieParameters
from treetop.privacy.epsilon import Epsilon


@pytest.mark.parametrize(("least_kept", "kept"), [(1, 10), (12, 12)])
def test_a_trie_keeps_twice_k_unless_it_says_otherwise(least_kept: int, kept: int) -> None:
    """What a mechanism of another package gets that does not override it."""
    parameters = TrieParameters(5, Epsilon(1), bits=12, levels=4, least_kept=least_kept)
    levels = TrieMechanism.levels(Gtf(), parameters)
    assert levels.max_kept == kept
    assert levels.lengths == (0, 3, 6, 9, 12)
    assert levels.max_candidates == (8, 64, kept << 3, kept << 3)
