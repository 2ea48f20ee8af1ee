import numpy as np
import pytest

from treetop.trie.lower_confidence import ScoredCandidates
from treetop.trie.seeds import MAX_SEEDS, SEEDS, Seeds


def test_a_text_is_read_as_it_was_written() -> None:
    seeds = Seeds((0, 31, 672), (0.25, 0.0, 0.012346))
    assert str(seeds) == "0=0.250000,1f,2a0=0.012346"
    assert Seeds.read(str(seeds)) == seeds
    assert Seeds.read(seeds) is seeds
    assert Seeds.read("") == Seeds()
    assert not Seeds()
    assert str(Seeds()) == ""


@pytest.mark.parametrize("text", ["2,1", "1,1", "-1", "1=1", "1=-0.1", "1=nan", "g", "1,,2", "1=x"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Seeds.read(text)


def test_no_text_and_too_many_are_refused() -> None:
    with pytest.raises(TypeError):
        Seeds.read(7)
    with pytest.raises(ValueError):
        Seeds(tuple(range(MAX_SEEDS + 1)), (0.0,) * (MAX_SEEDS + 1))
    with pytest.raises(ValueError):
        Seeds((1, 2), (0.0,))


def test_the_best_are_taken_and_known_where_noise_would_not_show_them() -> None:
    number = SEEDS + 50
    prefixes = np.arange(10, 10 + number, dtype=np.uint64)
    bounds = np.arange(number, dtype=np.float64)  # the last ones are the best
    clear = ScoredCandidates(np.where(np.arange(number) >= number - 2, 1.0, -1.0), np.full(number, 30.0))
    seeds = Seeds.best(prefixes, bounds, clear, users=100)
    assert seeds.codes == tuple(range(60, 60 + SEEDS))
    assert seeds.shares[:-2] == (0.0,) * (SEEDS - 2)
    assert seeds.shares[-2:] == (0.3, 0.3)


def test_a_count_above_all_users_is_nearly_all_of_them() -> None:
    clear = ScoredCandidates(np.array([5.0]), np.array([120.0]))
    assert Seeds.best(np.array([3], dtype=np.uint64), np.array([1.0]), clear, users=100).shares == (0.999999,)


def test_known_shares_are_added_up_below_their_prefixes() -> None:
    seeds = Seeds((0b0001, 0b0010, 0b1111), (0.1, 0.2, 0.3))
    shares = seeds.shares_below(np.array([0b00, 0b01, 0b11], dtype=np.uint64), bits=4, length=2)
    assert shares.tolist() == pytest.approx([0.3, 0.0, 0.3])
    assert seeds.shares_below(np.array([0b01], dtype=np.uint64), 4, 2).tolist() == [0.0]
    assert seeds.shares_below(np.empty(0, dtype=np.uint64), 4, 2).tolist() == []
    assert Seeds().shares_below(np.array([1], dtype=np.uint64), 4, 2).tolist() == [0.0]


def test_codes_must_fit_the_bits() -> None:
    assert Seeds().fit(8)
    assert Seeds((255,), (0.0,)).fit(8)
    assert not Seeds((256,), (0.0,)).fit(8)
    assert Seeds((1 << 80,), (0.0,)).within(90).tolist() == [1 << 80]
