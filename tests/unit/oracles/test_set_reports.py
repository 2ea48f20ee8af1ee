"""Reports of sets: the integers of a device, who counts as one item, and the same from many devices at once."""

import json
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from tests.support.fixed_entropy import FixedEntropy
from tests.support.refusals import refused

from treetop.audit.chosen_inputs import CountingEntropy, ScriptedEntropy
from treetop.errors import InvalidInput, ReportRefused, UnknownName
from treetop.oracles import kernels
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.protocol import NO_CODE_KEY
from treetop.oracles.random_words import GeneratorWords
from treetop.oracles.registry import AUTO, form_for_sets, oracle_named, set_form, set_oracle
from treetop.oracles.set_counting import SetCounting
from treetop.oracles.set_reports import (
    SetFace,
    SetLocalHashing,
    SetOracle,
    SetQuestion,
    SetWalshHashing,
    own_weight,
    set_buckets,
    set_parities,
)
from treetop.oracles.walsh import WalshHashing
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.randomness import WORDS

FORMS = (SetLocalHashing, SetWalshHashing)
BUDGETS = [Budget(text) for text in ("0.1", "1", "2", "4", "8", "16")]
VECTORS = json.loads((Path(__file__).parents[2] / "vectors" / "set_reports.json").read_text())


def counting(form: type[SetOracle], epsilon: float, m: int) -> SetCounting:
    found = form(m).over(Epsilon(epsilon), 1000)
    assert isinstance(found, SetCounting)
    return found


def words_of_each_bucket(face: SetFace, h: int) -> list[int]:
    """How many words report each bucket, where the h first ones are one's own."""
    words = [0] * face.slots
    for start, end in pairwise((0, *face.thresholds, WORDS)):
        first, last = (face.bucket(word, list(range(h))) for word in (start, end - 1))
        assert first == last
        words[first] += end - start
    return words


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("m", [1, 2, 8, 64])
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_the_weight_is_the_largest_that_no_ratio_forbids(form: type[SetOracle], m: int, budget: Budget) -> None:
    odds = budget.odds_below
    t = form(m).slots_for(odds)
    A = own_weight(odds, t, m)

    def allowed(A: int) -> bool:
        return A * (m * odds + t - m) <= WORDS * odds and odds * ((WORDS - m * A) // (t - m)) >= A

    assert allowed(A)
    assert not allowed(A + 1)
    p = budget.amount and float(odds / (m * odds + t - m))
    assert pytest.approx(p, rel=1e-12) == A / WORDS


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("m", [1, 2, 5])
def test_every_bucket_lies_between_the_two_bounds_whatever_is_held(form: type[SetOracle], m: int) -> None:
    """All probabilities are from F to A, and A <= L F: any two sets differ by the ratio L at most."""
    odds = Budget("1.5").odds_below
    face = form(m).set_face(odds)
    A, F = face.own, (WORDS - m * face.own) // (face.slots - m)
    assert odds * F >= A
    for h in range(m + 1):
        words = words_of_each_bucket(face, h)
        assert sum(words) == WORDS
        assert words[:h] == [A] * h
        assert all(F <= each <= A for each in words)
        assert max(words[h:]) - min(words[h:]) <= 1


@pytest.mark.parametrize(
    ("form", "single"), [(SetLocalHashing, OptimizedLocalHashing), (SetWalshHashing, WalshHashing)]
)
@pytest.mark.parametrize("budget", BUDGETS, ids=str)
def test_a_set_of_one_reports_as_the_single_form_does(form: type[SetOracle], single: type, budget: Budget) -> None:
    """The same buckets, and the same probabilities but for the rounding of 64-bit words."""
    one = single()
    face = one.device(budget)
    assert form(1).slots_for(budget.odds_below) == face.slots
    p = budget.odds_below / (budget.odds_below + face.slots - 1)
    assert abs(Fraction(form(1).device(budget).own, WORDS) - p) <= Fraction(face.slots, WORDS)
    counted = form(1).over(Epsilon(budget.text), 10)
    assert (counted.p, counted.q) == pytest.approx((one.over(Epsilon(budget.text), 10).p, 1 / face.slots))
    assert (form(1).device(budget).width, form.name, form.tag) == (face.width, one.name, one.tag)


def test_the_buckets_are_those_of_the_formula_and_what_a_power_of_two_costs() -> None:
    found = {}
    for epsilon in (1, 2, 4):
        odds = Budget(str(epsilon)).odds_below
        assert set_buckets(odds, 8) == round(15 + 8 * float(odds))
        olh, walsh = (counting(form, epsilon, 8) for form in FORMS)
        found[epsilon] = (walsh.report_slots, round(walsh.variance(0.0, 1) / olh.variance(0.0, 1) - 1, 3))
    assert found == {1: (32, 0.022), 2: (64, 0.015), 4: (512, 0.003)}
    assert set_buckets(Budget("16").odds_below, 64) == 1 << 16
    assert set_parities(Budget("8").odds_below, 64) == 12
    assert set_parities(Budget("0.1").odds_below, 64) > 6


def test_the_items_spoken_of_are_those_with_the_smallest_digests() -> None:
    face = SetLocalHashing(2).device(Budget("2"))
    held = {b"tea": 1, b"milk": 2, b"rum": 3}
    assert len(face.chosen(7, held)) == 2
    assert face.chosen(7, held) == face.chosen(7, dict(reversed(held.items())))
    assert {tuple(face.chosen(key, held)) for key in range(60)} == {
        (one, two) for one in held for two in held if one != two
    }
    assert sorted(face.chosen(1, {b"tea": 1, b"milk": 2})) == [b"milk", b"tea"]


@pytest.mark.parametrize("form", FORMS)
def test_items_of_one_key_are_one_and_the_empty_set_reports_any_bucket(form: type[SetOracle]) -> None:
    face = form(3).device(Budget("1"))
    for word in (0, face.own - 1, face.own, WORDS // 2, WORDS - 1):
        drawn = 5, 99, (word,)
        assert face.report(drawn, {b"a": 7, b"b": 7, b"c": 7}) == face.report(drawn, {b"a": 7})
        assert face.report(drawn, {}).bucket == word * face.slots // WORDS
        assert face.report(drawn, {b"a": NO_CODE_KEY}).seed == 99


@pytest.mark.parametrize("form", FORMS)
def test_as_many_bytes_are_drawn_whatever_is_held_and_before(form: type[SetOracle]) -> None:
    face = form(2).device(Budget("2"))
    for held in ({}, {b"a": 1}, {b"%d" % place: place for place in range(50)}):
        entropy = CountingEntropy(FixedEntropy(4).read)
        draw = face.draw(entropy)
        assert entropy.taken == 32 + 4 + 8
        body = face.encode(draw.report(held))
        assert entropy.taken == 44
        assert (len(body), face.checked(body)) == (face.width, draw.report(held))
        assert face.readable(body)
        assert face.supports(face.decode(body), 1) == (face.single.hashed(face.decode(body).seed, 1) == body[-1])


def test_outcomes_above_256_take_two_bytes_and_are_checked() -> None:
    face = SetWalshHashing(8).device(Budget("4"))
    assert (face.slots, face.width) == (512, 6)
    assert face.readable(b"\0" * 4 + b"\1\xff")
    assert not face.readable(b"\0" * 4 + b"\2\0")
    with pytest.raises(ReportRefused, match="below 512"):
        face.checked(b"\0" * 4 + b"\2\0")
    assert SetWalshHashing(8).form(512).width == 6
    assert face.task_thresholds() == {"own": face.own, "buckets": 512, "items": 8}


def test_the_weights_of_the_vectors() -> None:
    for case in VECTORS["thresholds"]:
        form = next(form for form in FORMS if form.name == case["oracle"])
        face = form(case["items"]).device(Budget(case["epsilon"]))
        assert (face.slots, str(face.own)) == (case["buckets"], case["own"])


def test_the_reports_of_the_vectors() -> None:
    for case in VECTORS["reports"]:
        form = next(form for form in FORMS if form.name == case["oracle"])
        face, entropy = (
            form(case["items"]).device(Budget(case["epsilon"])),
            ScriptedEntropy(bytes.fromhex(case["randomness"])),
        )
        held = {item.encode(): int(key) for item, key in case["held"].items()}
        draw = face.draw(entropy)
        assert [item.decode() for item in face.chosen(draw.drawn[0], held)] == case["chosen"]
        assert (face.encode(draw.report(held)).hex(), entropy.taken) == (case["body"], case["bytes_taken"])


def drawn_sets(users: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    randomness = np.random.default_rng(3)
    starts = np.concatenate([[0], randomness.integers(0, m + 1, users).cumsum()])
    return starts, randomness.integers(0, 40, starts[-1]).astype(np.uint64)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_many_devices_report_what_each_would(
    form: type[SetOracle], compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bit for bit, with the same seeds and words: own buckets, others, repeated keys and empty sets."""
    if not compiled:
        monkeypatch.setattr(kernels, "reported_buckets", kernels.reported_buckets.py_func)
    oracle, (starts, keys) = counting(form, 2, 4), drawn_sets(400, 4)
    seeds, reported = oracle.perturb_sets(starts, keys, GeneratorWords(np.random.default_rng(5)))
    words = GeneratorWords(np.random.default_rng(5))
    drawn = zip(words.words32(400).tolist(), words.words64(400).tolist(), strict=True)
    for user, (seed, word) in enumerate(drawn):
        held = {b"%d" % place: int(key) for place, key in enumerate(keys[starts[user] : starts[user + 1]])}
        assert oracle.face.report((0, seed, (word,)), held) == (seeds[user], reported[user])


def test_whoever_holds_one_item_each_is_perturbed_as_a_set_of_one() -> None:
    oracle = counting(SetLocalHashing, 1, 3)
    keys = np.arange(50, dtype=np.uint64)
    one = oracle.perturb(keys, GeneratorWords(np.random.default_rng(1)))
    two = oracle.perturb_sets(np.arange(51), keys, GeneratorWords(np.random.default_rng(1)))
    assert [column.tolist() for column in one] == [column.tolist() for column in two]


@pytest.mark.parametrize("form", FORMS)
def test_what_a_report_supports_is_counted_without_bias(form: type[SetOracle]) -> None:
    """20,000 users with keys 1 to 4 of m = 4: each key is supported with p, another with q, within six deviations."""
    oracle, users = counting(form, 2, 4), 20_000
    keys = np.tile(np.arange(1, 5, dtype=np.uint64), users)
    columns = oracle.perturb_sets(np.arange(0, 4 * users + 1, 4), keys, GeneratorWords(np.random.default_rng(8)))
    estimates = oracle.estimate(oracle.tally(columns, np.array([1, 4, 9, 1000], dtype=np.uint64)))
    errors = [oracle.variance(truth, users) ** 0.5 for truth in (1, 1, 0, 0)]
    assert np.all(np.abs(estimates - [1, 1, 0, 0]) < 6 * np.array(errors))


def test_honest_sets_do_not_surprise_and_crafted_reports_do() -> None:
    oracle, users = counting(SetLocalHashing, 1, 4), 3000
    keys = np.tile(np.arange(4, dtype=np.uint64), users)
    columns = oracle.perturb_sets(np.arange(0, 4 * users + 1, 4), keys, GeneratorWords(np.random.default_rng(8)))
    asked = np.arange(60, dtype=np.uint64)
    assert oracle.beyond_chance(oracle.surprising(columns, asked), users, 60) == 0
    seeds = np.arange(200_000, dtype=np.uint32)
    found = np.stack([oracle.hashed(seeds, np.full(200_000, key, np.uint64)) for key in asked])
    most = (found == found[0]).sum(axis=0).argsort()[-40:]  # seeds that put many keys into one bucket
    crafted = oracle.surprising((seeds[most], found[0][most].astype(np.uint8)), asked)
    assert oracle.beyond_chance(crafted, 3000, 60) == crafted > 0


def test_who_has_a_form_for_sets() -> None:
    assert set_form("krr", 1) == "krr"
    assert set_form(AUTO, 8) == SetLocalHashing(8) == set_form(OptimizedLocalHashing(), 8)
    assert set_form("walsh", 3) == SetWalshHashing(3) != SetWalshHashing(4)
    assert set_form(SetWalshHashing(3), 5) == SetWalshHashing(3)
    assert len({SetWalshHashing(3), SetWalshHashing(3), SetLocalHashing(3)}) == 2
    assert oracle_named(SetLocalHashing(3), Epsilon(1), 4).report_slots == set_buckets(Epsilon(1).odds_below, 3)
    with refused("oracle_without_sets", InvalidInput, set_forms="olh or walsh", name="krr"):
        set_form("krr", 2)
    with refused("items_per_user_invalid", InvalidInput, max_items=64, items=65):
        SetLocalHashing(65)
    with refused("set_report_items", InvalidInput, slots=3, items=4):
        SetFace(SetLocalHashing(1).device(Budget("1")).single, 4)


def test_what_numbers_of_holders_cannot_say_is_not_asked() -> None:
    oracle = counting(SetLocalHashing, 1, 2)
    with pytest.raises(AssertionError, match="do not give the law"):
        oracle.sample_tally(np.array([1, 2]), np.random.default_rng(1))
    with pytest.raises(AssertionError, match="not asked about"):
        oracle.over_list(Epsilon(1), 4)


@pytest.mark.parametrize(("items", "reading", "asked"), [
    (None, None, (8, "holders")), (None, "holders", (8, "holders")), (5, None, (5, "holders")),
    (1, None, (1, "shares")), (None, "shares", (1, "shares")), (None, "use_shares", (1, "use_shares")),
])  # fmt: skip
def test_what_was_left_open_is_filled_in(items: int | None, reading: str | None, asked: tuple[int, str]) -> None:
    assert SetQuestion.of(items, reading) == SetQuestion(*asked)


def test_what_has_no_meaning_is_refused() -> None:
    for items in (0, 65):
        with pytest.raises(InvalidInput, match=f"from 1 to 64, found {items}"):
            SetQuestion.of(items, None)
    with pytest.raises(InvalidInput, match="occurrences are not counted"):
        SetQuestion.of(8, "occurrences")
    with pytest.raises(UnknownName, match="uses"):
        SetQuestion.of(8, "uses")
    with pytest.raises(InvalidInput, match="expected items_per_user = 1, found 8"):
        SetQuestion.of(8, "shares")


def test_oracles_that_hash_have_a_form_for_sets_and_the_others_are_refused() -> None:
    assert form_for_sets("olh", 1) == SetLocalHashing(1)
    assert form_for_sets("walsh", 8) == SetWalshHashing(8)
    with pytest.raises(InvalidInput, match="report through olh or walsh, found 'krr'"):
        form_for_sets("krr", 8)


def test_sets_are_reported_through_walsh_unless_told() -> None:
    assert set_oracle("auto", Epsilon(2), 8).name == "walsh"
    assert set_oracle("olh", Epsilon(2), 8).name == "olh"
