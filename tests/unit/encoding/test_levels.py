import pytest
from tests.support.refusals import refused

from treetop.encoding.bit_strings import level_lengths, level_lengths_from, starting_bits
from treetop.errors import InvalidInput


def test_the_papers_levels_grow_by_two_bits() -> None:
    assert level_lengths(48, 24) == tuple(range(0, 49, 2))


def test_lengths_are_rounded_up() -> None:
    assert level_lengths(10, 4) == (0, 3, 5, 8, 10)


def test_pem_starts_at_the_logarithm_of_k() -> None:
    assert [starting_bits(k) for k in (1, 2, 3, 10, 16, 17, 40)] == [0, 1, 2, 4, 4, 5, 6]


def test_fedpem_at_48_bits_and_24_levels_by_hand() -> None:
    lengths = level_lengths_from(4, 48, 24)
    assert lengths[:4] == (4, 6, 8, 10)  # 4 + ceil(44 h / 24)
    assert lengths[12:14] == (26, 28)
    assert lengths[-2:] == (47, 48)


def test_a_start_at_full_length_leaves_nothing_to_extend() -> None:
    assert level_lengths_from(8, 8, 3) == (8, 8, 8, 8)


@pytest.mark.parametrize("levels", [0, 49])
def test_levels_outside_the_code_are_refused(levels: int) -> None:
    with refused("levels_out_of_range", InvalidInput, bits=48):
        level_lengths(48, levels)
