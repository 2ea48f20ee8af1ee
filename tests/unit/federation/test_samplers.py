from collections import Counter

import pytest
from tests.support.fixed_entropy import FixedEntropy

from treetop.audit.scripted_entropy import Exhausted, ScriptedEntropy, word
from treetop.federation.samplers import (
    BitsDraw,
    BitsSampler,
    HashDraw,
    HashSampler,
    SlotDraw,
    SlotSampler,
    uniform_below,
)
from treetop.federation.thresholds import HALF
from treetop.privacy.budget import Budget

ONE = Budget("1")


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


def test_krr_keeps_below_its_threshold_only() -> None:
    sampler = SlotSampler(ONE, 5)
    assert sampler.draw(ScriptedEntropy(word(sampler.keep - 1) + b"\0")).report(3) == 3
    assert sampler.draw(ScriptedEntropy(word(sampler.keep) + b"\3")).report(3) == 4
    assert sampler.draw(ScriptedEntropy(word(sampler.keep) + b"\2")).report(3) == 2


def test_a_lie_is_never_the_truth() -> None:
    for slot in range(5):
        assert {SlotDraw(False, other).report(slot) for other in range(4)} == set(range(5)) - {slot}


def test_oue_compares_one_word_with_each_threshold() -> None:
    flip = BitsSampler(ONE, 3).flip
    assert BitsDraw((HALF - 1, flip - 1, flip), flip).report(0) == (True, True, False)
    assert BitsDraw((HALF, flip, flip - 1), flip).report(0) == (False, False, True)


def test_olh_reports_its_seed_and_perturbs_the_bucket() -> None:
    truthful = HashDraw(99, SlotDraw(True, 0), 4).report(1234)
    lies = {HashDraw(99, SlotDraw(False, other), 4).report(1234).bucket for other in range(3)}
    assert truthful.seed == 99
    assert lies == set(range(4)) - {truthful.bucket}


def test_draws_take_the_bytes_that_the_documents_say() -> None:
    entropy = FixedEntropy(1)
    BitsSampler(ONE, 9).draw(entropy)
    assert entropy.total == 72
    SlotSampler(ONE, 257).draw(entropy)
    assert entropy.total == 72 + 8 + 1
    HashSampler(ONE).draw(ScriptedEntropy(bytes(4 + 8 + 1)))


def test_draws_show_nothing() -> None:
    number = 123_456_789_123_456_789_123_456_789  # longer than an address in a repr
    for draw in (SlotDraw(True, number), BitsDraw((number,), 1), HashDraw(number, SlotDraw(True, number), 4)):
        assert str(number) not in repr(draw)


def test_the_randomness_of_simulations_is_another_type() -> None:
    """P4: a seeded generator does not fit where a device wants entropy, nor the other way round."""
    import numpy as np

    from treetop.oracles.k_randomized_response import KRandomizedResponse
    from treetop.privacy.epsilon import Epsilon

    with pytest.raises(AttributeError):
        SlotSampler(ONE, 5).draw(np.random.default_rng(1))  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        KRandomizedResponse(Epsilon(1), 5).perturb(np.zeros(3), FixedEntropy(1))  # type: ignore[arg-type]
