"""OLH on a device: its buckets, its hash, its report, its bytes."""

import json
from math import exp
from pathlib import Path

import numpy as np
import pytest

from treetop.oracles.hashing import buckets, premixed
from treetop.oracles.krr.device import keep_threshold
from treetop.oracles.olh.device import MAX_BUCKETS, HashFace, bucket_count, bucket_of
from treetop.privacy.budget import Budget

VECTORS = json.loads((Path(__file__).parents[3] / "vectors" / "olh_hash.json").read_text())
ONE = Budget("1").odds_below


def test_buckets_take_two_bytes_at_most() -> None:
    assert bucket_count(Budget("16").odds_below) == MAX_BUCKETS
    assert bucket_count(ONE) == int(exp(1)) + 2


def test_devices_hash_as_the_vectors_say() -> None:
    for vector in VECTORS:
        assert bucket_of(vector["seed"], int(vector["key"]), vector["buckets"]) == vector["bucket"]


@pytest.mark.parametrize("count", [2, 4, 9, 2982, 65536])
def test_devices_and_parties_hash_alike(count: int) -> None:
    stream = np.random.default_rng(7)
    seeds = stream.integers(1 << 32, size=500, dtype=np.uint32)
    for key in stream.integers(1 << 63, size=20, dtype=np.uint64):
        low, high = premixed(np.array([key]))
        counted = buckets(seeds, low, high, count)
        assert [bucket_of(int(seed), int(key), count) for seed in seeds] == counted.tolist()


def test_the_seed_is_reported_and_the_bucket_perturbed() -> None:
    face = HashFace(ONE, 4)
    (keep,) = face.thresholds
    truthful = face.report((99, (0,), 0), 1234)
    lies = {face.report((99, (keep,), other), 1234).bucket for other in range(3)}
    assert truthful == (99, bucket_of(99, 1234, 4))
    assert lies == set(range(4)) - {truthful.bucket}


@pytest.mark.parametrize(("slots", "width"), [(2, 5), (256, 5), (257, 6), (65536, 6)])
def test_a_hashed_report_takes_six_bytes_at_most(slots: int, width: int) -> None:
    assert HashFace(ONE, slots).width == width


def test_a_task_carries_threshold_and_buckets() -> None:
    assert HashFace(ONE, 4).task_thresholds() == {"keep": keep_threshold(ONE, 4), "buckets": 4}
    assert HashFace(ONE, 4).list_thresholds() == {}
