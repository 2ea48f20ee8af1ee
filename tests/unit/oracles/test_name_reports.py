"""Reports of names, counted: against devices that are asked one by one, whatever parts the reports come in."""

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.refusals import refused

from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import Columns
from treetop.oracles.hashed_reports import HashedReport
from treetop.oracles.name_reports import CountedNameReports
from treetop.oracles.random_words import GeneratorWords
from treetop.oracles.registry import find_oracle, oracle_named
from treetop.oracles.walsh.device import chunk_key
from treetop.privacy.epsilon import Epsilon

BITS, TWO = 9, Epsilon(2)
NAMES = np.array([3, 77, 500, 77], dtype=np.uint64)
CHUNKS = np.array([[1, 2], [3, 4], [255, 0], [3, 9]], dtype=np.uint8)


def reports(oracle: str) -> list[Columns]:
    """40 reports of whole names, 30 and none of two chunks."""
    randomness = np.random.default_rng(3)
    counting = oracle_named(oracle, TWO, 1 << BITS)
    values = [randomness.integers(1 << BITS, size=size, dtype=np.uint64) for size in (40, 30, 0)]
    return [counting.perturb(some, GeneratorWords(randomness)) for some in values]


def counted(oracle: str, parts: int = 1) -> tuple[CountedNameReports, list[Columns]]:
    columns = reports(oracle)

    def of_kind(kind: int) -> Iterable[Columns]:
        return zip(*(np.array_split(column, parts) for column in columns[kind]), strict=True)

    sizes = tuple(len(seeds) for seeds, _ in columns)
    return CountedNameReports(oracle_named(oracle, TWO, 1 << BITS), BITS, sizes, of_kind), columns


def by_devices(oracle: str, columns: Columns, keys: Iterable[int]) -> list[int]:
    """The naive twin: ask the device's face about every report and every key."""
    slots = oracle_named(oracle, TWO, 1 << BITS).report_slots
    face = find_oracle(oracle).device_face(Fraction(2), slots)
    said = [HashedReport(int(seed), int(bucket)) for seed, bucket in zip(*columns, strict=True)]
    return [sum(face.supports(report, key) for report in said) for key in keys]


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("oracle", ["walsh", "olh"])
def test_names_chunks_and_texts_are_counted_as_devices_would(oracle: str, parts: int) -> None:
    names, (whole, *chunks) = counted(oracle, parts)
    assert names.kinds == (40, 30, 0)
    support = by_devices(oracle, whole, NAMES.tolist())
    assert names.support(NAMES).tolist() == support
    for chunk, columns in enumerate(chunks):
        for name, row in zip(NAMES.tolist(), names.chunk_support(NAMES, chunk).tolist(), strict=True):
            keys = [chunk_key(name, chunk, value, BITS) for value in range(256)]
            assert row == by_devices(oracle, columns, keys)
    texts = names.text_support(NAMES, CHUNKS).tolist()
    assert texts == [whole_and_chunks(oracle, whole, chunks, place) for place in range(len(NAMES))]


def whole_and_chunks(oracle: str, whole: Columns, chunks: list[Columns], place: int) -> int:
    name, values = int(NAMES[place]), CHUNKS[place].tolist()
    total = by_devices(oracle, whole, [name])[0]
    for chunk, columns in enumerate(chunks):
        total += by_devices(oracle, columns, [chunk_key(name, chunk, values[chunk], BITS)])[0]
    return total


def test_names_above_a_bound_are_all_of_them_but_the_listed_ones() -> None:
    names, (whole, *_) = counted("walsh", 2)
    before = names.support(NAMES)
    support = np.array(by_devices("walsh", whole, range(1 << BITS)))
    listed = np.flatnonzero(support >= 10)[::2].astype(np.uint64)
    found, numbers = names.above(10, listed)
    expected: NDArray[Any] = np.flatnonzero(support >= 10)[1::2]
    assert len(expected) > 3
    assert found.tolist() == expected.tolist()
    assert found.dtype == listed.dtype
    assert numbers.tolist() == support[expected].tolist()
    assert names.support(NAMES).tolist() == before.tolist()


@pytest.mark.parametrize(("reports", "kept"), [(40, np.uint8), (300, np.uint16), (70_000, np.uint32)])
def test_the_support_of_all_names_is_kept_in_as_few_bytes_as_the_reports_need(reports: int, kept: type) -> None:
    randomness, oracle = np.random.default_rng(4), oracle_named("walsh", TWO, 1 << BITS)
    columns = oracle.perturb(np.full(reports, 5, dtype=np.uint64), GeneratorWords(randomness))
    names = CountedNameReports(oracle, BITS, (reports,), lambda _: [columns])
    every = np.arange(1 << BITS, dtype=np.uint64)
    one_by_one = names.support(every)  # before all names were counted at once
    found, support = names.above(0, every[:0])
    assert names._every_name.dtype == kept
    assert support.dtype == np.int64
    assert (found.tolist(), support.tolist()) == (every.tolist(), one_by_one.tolist())
    assert support[5] > 0.4 * reports


def test_only_walsh_looks_at_every_name() -> None:
    names, _ = counted("olh")
    with refused("names_not_counted", InvalidInput, name="olh", bits=9):
        names.above(10, NAMES)


@pytest.mark.parametrize("oracle", ["krr", "oue"])
def test_an_oracle_over_a_list_is_refused(oracle: str) -> None:
    with refused("names_need_hashing", InvalidInput):
        CountedNameReports(oracle_named(oracle, TWO, 8), BITS, (0,), lambda _: [])
