"""Uniform integers from random bytes: every one of them as likely, whatever the bound."""

from collections import Counter

import pytest

from treetop.audit.chosen_inputs import Exhausted, ScriptedEntropy
from treetop.privacy.randomness import uniform_below


@pytest.mark.parametrize("bound", [1, 2, 3, 100, 255, 256, 257, 1000])
def test_every_integer_below_the_bound_has_as_many_byte_strings(bound: int) -> None:
    length = ((bound - 1).bit_length() + 7) // 8
    drawn: Counter[int] = Counter()
    for number in range(1 << (8 * length)):
        try:
            drawn[uniform_below(bound, ScriptedEntropy(number.to_bytes(length, "big")))] += 1
        except Exhausted:
            continue
    assert set(drawn) == set(range(bound))
    assert len(set(drawn.values())) == 1


def test_a_large_draw_is_taken_again() -> None:
    assert uniform_below(5, ScriptedEntropy(bytes([7, 6, 5, 4]))) == 4
