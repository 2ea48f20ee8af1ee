"""Walsh on a device: how many parities, its threshold, its report, its bytes."""

import json
from fractions import Fraction
from math import exp
from pathlib import Path

import numpy as np
import pytest
from tests.support.fixed_entropy import FixedEntropy
from tests.support.refusals import refused

from treetop.audit.chosen_inputs import CountingEntropy
from treetop.errors import InvalidInput, PeerViolation
from treetop.federation.wire.report_batches import Envelope, decoded_batch, encoded_batch
from treetop.oracles.hashed_reports import HashedReport, mixed_words
from treetop.oracles.hashing import chunk_keys, outcomes
from treetop.oracles.hashing import mixed_words as words_of_many
from treetop.oracles.registry import find_oracle
from treetop.oracles.walsh.device import ParityFace, chunk_key, keep_threshold, no_name, parity_count
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import Group

FOLDER = Path(__file__).parents[3] / "vectors"
VECTORS = json.loads((FOLDER / "walsh_hash.json").read_text())
CHUNK_KEYS = json.loads((FOLDER / "chunk_keys.json").read_text())
ONE = Budget("1").odds_below
WALSH = find_oracle("walsh")


def variance(epsilon: float, s: int) -> float:
    """The naive twin: q (1 - q) / (p - q)^2 in floating point."""
    g = 1 << s
    p, q = exp(epsilon) / (exp(epsilon) + g - 1), 1 / g
    return q * (1 - q) / (p - q) ** 2


@pytest.mark.parametrize("text", ["0.1", "0.5", "1", "1.5", "2", "3", "4", "5", "8", "16"])
def test_the_number_of_parities_has_the_least_variance(text: str) -> None:
    assert parity_count(Budget(text).odds_below) == min(range(1, 9), key=lambda s: variance(float(text), s))


def test_outcomes_at_the_usual_budgets() -> None:
    found = {text: WALSH.slots_for(Budget(text).odds_below) for text in ("0.5", "1", "2", "4", "16")}
    assert found == {"0.5": 2, "1": 4, "2": 8, "4": 64, "16": 256}


def test_the_threshold_is_the_largest_that_keeps_the_promise() -> None:
    """A report is the true outcome with t + (1 - t) / g and any other with (1 - t) / g."""
    for odds, g in ((ONE, 4), (Budget("4").odds_below, 64), (Fraction(9), 8)):
        keep = keep_threshold(odds, g)
        ratios = [1 + g * t / (1 - t) for t in (Fraction(keep, 1 << 64), Fraction(keep + 1, 1 << 64))]
        assert ratios[0] <= odds < ratios[1]


def test_devices_hash_as_the_vectors_say() -> None:
    for vector in VECTORS:
        seed, slots = vector["seed"], vector["outcomes"]
        assert [str(word) for word in mixed_words(seed, slots.bit_length())] == vector["words"]
        for key, outcome in vector["outcome"].items():
            assert ParityFace(ONE, slots).hashed(seed, int(key)) == outcome


def test_devices_report_chunks_by_the_keys_of_the_vectors() -> None:
    for vector in CHUNK_KEYS:
        assert chunk_key(vector["name"], vector["chunk"], vector["value"], vector["bits"]) == vector["key"]


@pytest.mark.parametrize("bits", [8, 24, 28])
def test_devices_and_parties_have_the_same_keys_of_chunks(bits: int) -> None:
    names = np.random.default_rng(bits).integers(1 << bits, size=50, dtype=np.uint64)
    for chunk in (0, 5, 63):
        keys = chunk_keys(names[:, None], chunk, np.arange(256), bits)
        by_one = [[chunk_key(int(name), chunk, value, bits) for value in range(256)] for name in names]
        assert keys.tolist() == by_one
        assert keys.max() <= no_name(bits)


def by_hand(seed: int, key: int, parities: int) -> int:
    """The hash as wire_protocol.md tells it, one bit after the other."""

    def word(place: int) -> int:
        z = (seed + place * 0x9E3779B97F4A7C15) % 2**64
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) % 2**64
        return z ^ (z >> 31)

    bits = [(bin(word(j + 1) & key).count("1") + (word(1) >> (j - 1))) % 2 for j in range(1, parities + 1)]
    return sum(bit << place for place, bit in enumerate(bits))


@pytest.mark.parametrize("slots", [2, 8, 64, 256])
def test_devices_and_parties_hash_alike(slots: int) -> None:
    stream, face = np.random.default_rng(7), ParityFace(ONE, slots)
    seeds = stream.integers(1 << 32, size=200, dtype=np.uint32)
    assert words_of_many(seeds, 3).tolist() == [mixed_words(int(seed), 3)[2] for seed in seeds]
    for key in (0, 2**64 - 1, *stream.integers(1 << 63, size=10).tolist()):
        counted = outcomes(seeds, np.uint64(key), slots).tolist()
        assert [face.hashed(int(seed), key) for seed in seeds] == counted
        assert [by_hand(int(seed), key, slots.bit_length() - 1) for seed in seeds] == counted


def test_the_seed_is_reported_and_the_outcome_perturbed() -> None:
    face = ParityFace(ONE, 4)
    truth = HashedReport(99, face.hashed(99, 1234))
    assert {face.report((99, (face.keep - 1,), other), 1234) for other in range(4)} == {truth}
    assert [face.report((99, (face.keep,), other), 1234).bucket for other in range(4)] == [0, 1, 2, 3]
    assert face.supports(truth, 1234)
    assert not face.supports(HashedReport(99, truth.bucket ^ 1), 1234)


@pytest.mark.parametrize("budget", ["0.1", "1", "2", "4", "16"])
def test_every_report_reads_thirteen_random_bytes(budget: str) -> None:
    entropy, face = CountingEntropy(FixedEntropy(1).read), WALSH.device(Budget(budget))
    for _ in range(100):
        face.draw(entropy)
    assert entropy.taken == 1300
    assert face.width == 5


@pytest.mark.parametrize("slots", [3, 9, 255, 8192])
def test_outcomes_are_a_power_of_two(slots: int) -> None:
    with refused("walsh_slots", InvalidInput, most=4096):
        ParityFace(ONE, slots)
    assert not WALSH.has_slots(slots)


def test_more_than_256_outcomes_take_two_bytes() -> None:
    assert (ParityFace(ONE, 256).width, ParityFace(ONE, 512).width) == (5, 6)
    assert WALSH.has_slots(512)


def test_a_batch_with_another_number_of_outcomes_is_refused() -> None:
    batch = encoded_batch(Envelope(bytes(32), Group(1), bytes(32), WALSH, 8), [HashedReport(1, 7)])
    assert decoded_batch(batch).reports() == [HashedReport(1, 7)]
    with pytest.raises(PeerViolation, match="slots: expected a power of two from 2 to 4096, found 9"):
        decoded_batch(batch[:69] + (9).to_bytes(4, "big") + batch[73:])


def test_a_task_carries_threshold_and_outcomes() -> None:
    assert ParityFace(ONE, 4).task_thresholds() == {"keep": keep_threshold(ONE, 4), "outcomes": 4}
    assert ParityFace(ONE, 4).list_thresholds() == {}
