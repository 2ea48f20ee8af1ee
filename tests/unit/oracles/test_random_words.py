"""Random words by the array, from entropy and from a generator."""

import numpy as np
import pytest
from tests.support.fixed_entropy import FixedEntropy

from treetop.oracles.random_words import EntropyWords, GeneratorWords, RandomWords


class Words:
    """Hands out chosen 32-bit words."""

    def __init__(self, *words: int) -> None:
        self._words = list(words)

    def read(self, count: int) -> bytes:
        taken, self._words = self._words[: count // 4], self._words[count // 4 :]
        return np.array(taken, dtype=np.uint32).tobytes()


def test_words_that_would_make_a_draw_uneven_are_drawn_again() -> None:
    """2^32 = 3 * 1431655765 + 1: of the 2^32 words one is too many, the one whose low product is 0."""
    assert EntropyWords(Words(0, 1 << 31, (1 << 32) - 1)).below(3, 2).tolist() == [2, 1]


@pytest.mark.parametrize("bound", [1, 3, 40, 65535])
def test_every_integer_has_the_same_number_of_words(bound: int) -> None:
    """Words w with floor(w bound / 2^32) = y and an accepted low half number floor(2^32 / bound), for every y."""
    uneven = (1 << 32) - bound * ((1 << 32) // bound)
    for y in {0, 1, bound // 2, bound - 1} & set(range(bound)):
        first = -(-((y << 32) + uneven) // bound)
        last = (((y + 1) << 32) - 1) // bound
        assert last - first + 1 == (1 << 32) // bound


@pytest.mark.parametrize("words", [EntropyWords(FixedEntropy(1)), GeneratorWords(np.random.default_rng(1))])
def test_words_have_their_length_and_fill_their_range(words: RandomWords) -> None:
    for drawn, bits in ((words.words64(1000), 64), (words.words32(1000), 32)):
        assert (len(drawn), drawn.dtype) == (1000, np.dtype(f"uint{bits}"))
        assert drawn.max() > 0.99 * 2**bits
        assert drawn.min() < 0.01 * 2**bits


def test_the_same_seed_gives_the_same_words() -> None:
    one, two = (GeneratorWords(np.random.default_rng(4)).words64(9).tolist() for _ in range(2))
    assert one == two
