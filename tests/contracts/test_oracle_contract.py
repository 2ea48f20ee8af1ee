"""What every frequency oracle must do, with its face for devices and its face for counting."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.fixed_entropy import FixedEntropy
from tests.support.refusals import refused

from treetop.adapters.report_files.sealed_file import batch_columns
from treetop.audit.chosen_inputs import CountingEntropy
from treetop.audit.oracle_laws import event_law
from treetop.errors import InvalidInput, ReportRefused
from treetop.federation.wire.report_batches import Batch, Envelope
from treetop.oracles.frequency_oracle import FrequencyOracle, Tally, columns_of
from treetop.oracles.protocol import MAX_SLOTS, NO_CODE_KEY, Below, DeviceFace, Oracle, Seed, Words
from treetop.oracles.random_words import GeneratorWords, RandomWords, Words32, Words64
from treetop.oracles.registry import ORACLES, oracle_named
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.trie.user_groups import Group

EPSILONS = (0.1, 1.0, 4.0, 12.0)
SIZES = (2, 5, 41)
FACES = [
    (oracle, budget, slots)
    for oracle in ORACLES.values()
    for budget in ("0.5", "2", "7")
    for slots in ((2, 5, 41, 300) if oracle.listed else (None,))
]


FOREIGN = 64
"""The first tag of oracles of other packages."""


@pytest.fixture(params=[(name, epsilon, size) for name in ORACLES for epsilon in EPSILONS for size in SIZES], ids=str)
def oracle(request: pytest.FixtureRequest) -> FrequencyOracle[Any]:
    name, epsilon, size = request.param
    return ORACLES[name].over(Epsilon(epsilon), size)


def values_of(oracle: FrequencyOracle[Any], slots: NDArray[Any]) -> NDArray[Any]:
    """What is asked about slots: themselves, or keys."""
    return slots.astype(np.int64 if oracle.listed else np.uint64)


def seeded(seed: int) -> GeneratorWords:
    return GeneratorWords(np.random.default_rng(seed))


def expected_tally(oracle: FrequencyOracle[Any], holders: NDArray[Any]) -> NDArray[Any]:
    n = holders.sum()
    held = holders[: oracle.slots]
    expected: NDArray[Any] = held * oracle.p + (n - held) * oracle.q
    return expected


def test_the_truth_is_likelier_and_probabilities_are_probabilities(oracle: FrequencyOracle[Any]) -> None:
    assert 0 < oracle.q < oracle.p < 1
    assert oracle.slots == (oracle.size if oracle.listed else oracle.size - 1)


def test_the_expected_tally_estimates_the_truth(oracle: FrequencyOracle[Any]) -> None:
    holders = np.arange(oracle.size) * 1000 + 17
    tally = Tally(expected_tally(oracle, holders), int(holders.sum()))
    truth = holders[: oracle.slots] / holders.sum()
    np.testing.assert_allclose(oracle.estimate(tally), truth, atol=1e-12)


def test_every_way_to_a_tally_counts_every_report(oracle: FrequencyOracle[Any]) -> None:
    randomness = np.random.default_rng(1)
    holders = np.full(oracle.size, 50)
    values = values_of(oracle, np.repeat(np.arange(oracle.size), 50))
    keys = np.arange(oracle.size - 1, dtype=np.uint64)
    perturbed = oracle.perturb(values, GeneratorWords(randomness))
    for tally in (
        oracle.sample_tally(holders, randomness),
        FrequencyOracle.sample_tally(oracle, holders, randomness),
        oracle.tally(perturbed, keys),
    ):
        assert tally.reports == holders.sum()
        assert len(tally.support) == oracle.slots
        assert tally.support.dtype == np.int64
        assert np.all((tally.support >= 0) & (tally.support <= tally.reports))
        if oracle.one_slot:
            assert tally.support.sum() == tally.reports


def test_tallies_of_disjoint_reports_add_up(oracle: FrequencyOracle[Any]) -> None:
    values = values_of(oracle, np.random.default_rng(2).integers(oracle.size, size=200))
    keys = np.arange(oracle.size - 1, dtype=np.uint64)
    columns = oracle.perturb(values, seeded(2))
    parts = tuple(column[:70] for column in columns), tuple(column[70:] for column in columns)
    first, second = (oracle.tally(part, keys) for part in parts)
    both, whole = first + second, oracle.tally(columns, keys)
    assert both.reports == whole.reports == 200
    np.testing.assert_array_equal(both.support, whole.support)


def test_without_reports_nothing_is_known(oracle: FrequencyOracle[Any]) -> None:
    tally = oracle.sample_tally(np.zeros(oracle.size, dtype=np.int64), np.random.default_rng(3))
    assert tally.reports == 0
    assert not oracle.estimate(tally).any()
    assert oracle.variance(0.1, 0) == math.inf
    assert all(len(column) == 0 for column in oracle.perturb(values_of(oracle, np.empty(0)), seeded(1)))


def test_the_variance_is_the_full_formula(oracle: FrequencyOracle[Any]) -> None:
    p, q, n, f = oracle.p, oracle.q, 1000, 0.3
    bernoulli = f * p * (1 - p) + (1 - f) * q * (1 - q)  # of one report's support, given who holds what
    assert oracle.variance(f, n) == pytest.approx(bernoulli / (n * (p - q) ** 2))


def test_the_same_seed_gives_the_same_reports_however_many_are_made_at_once(
    oracle: FrequencyOracle[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    values = values_of(oracle, np.zeros(30))
    first, second = (oracle.perturb(values, seeded(5)) for _ in range(2))
    for one, two in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, two)
    monkeypatch.setattr("treetop.oracles.frequency_oracle.CELLS_AT_ONCE", 1)
    one_by_one = oracle.perturb(values, seeded(5))
    layout = oracle.layout(oracle.report_slots)
    for column, form in zip(one_by_one, columns_of(layout).values(), strict=True):
        assert (column.dtype, column.shape) == (form.base, (30, *form.shape))
    assert oracle.in_range(one_by_one, oracle.report_slots)


@pytest.mark.parametrize("name", ORACLES)
def test_a_domain_without_a_candidate_is_refused(name: str) -> None:
    with refused("domain_too_small", InvalidInput, size=1):
        ORACLES[name].over(Epsilon(1), 1)


@pytest.mark.parametrize("name", ORACLES)
@pytest.mark.parametrize("slots", [-1, 0, 1, MAX_SLOTS + 1])
def test_a_device_needs_a_candidate_and_the_dummy(name: str, slots: int) -> None:
    with refused("slots_out_of_range", InvalidInput, max_slots=4194305):
        ORACLES[name].device(Budget("1"), slots)


def test_the_dummy_is_counted_in_d() -> None:
    krr = oracle_named("krr", Epsilon(1), 4)
    assert krr.size == 5
    assert krr.p == math.e / (4 + math.e)
    assert krr.p / krr.q == pytest.approx(math.e, rel=1e-15)


def test_oue_and_olh_ratios_are_e_to_the_epsilon() -> None:
    oue = oracle_named("oue", Epsilon(1), 4)
    assert (oue.p * (1 - oue.q)) / (oue.q * (1 - oue.p)) == pytest.approx(math.e, rel=1e-15)
    olh = oracle_named("olh", Epsilon(1), 4)
    assert olh.q == 1 / 4  # d' = ceil(e + 1) = 4
    assert olh.p / ((1 - olh.p) / 3) == pytest.approx(math.e, rel=1e-15)


@pytest.mark.parametrize(("oracle", "budget", "slots"), [case for case in FACES if case[2] in (2, 5)], ids=str)
def test_what_is_counted_with_is_the_law_of_the_device(oracle: Oracle, budget: str, slots: int) -> None:
    """p and q, against the chances that follow from the device's randomness and thresholds."""
    counting, face = oracle.over(Epsilon(budget), slots), oracle.device(Budget(budget), slots)
    for value, other in ((0, slots - 1), (slots - 1, 0)):
        law = event_law(face, value, (value, other))
        supports_value = law.get((True, True), 0) + law.get((True, False), 0)
        supports_other = law.get((True, True), 0) + law.get((False, True), 0)
        assert (supports_value, supports_other) == pytest.approx((counting.p, counting.q), rel=1e-12)


@dataclass(frozen=True)
class TwoFaces:
    """One oracle, as its devices answer and as their party counts, and some values to ask about."""

    oracle: Oracle
    face: DeviceFace
    counting: FrequencyOracle[Any]

    @property
    def values(self) -> list[int]:
        return list(range(self.face.slots)) if self.oracle.listed else [0, 1, 7, 1 << 40, NO_CODE_KEY]

    @property
    def keys(self) -> NDArray[np.uint64]:
        return np.array([] if self.oracle.listed else self.values, dtype=np.uint64)

    def columns(self, bodies: list[bytes]) -> tuple[NDArray[Any], ...]:
        return batch_columns(
            Batch(Envelope(bytes(32), Group(1), bytes(32), self.oracle, self.face.slots), tuple(bodies))
        )


@pytest.fixture(params=FACES, ids=lambda case: "-".join(map(str, case)))
def faces(request: pytest.FixtureRequest) -> TwoFaces:
    oracle, epsilon, slots = request.param
    face = oracle.device(Budget(epsilon), slots)
    return TwoFaces(oracle, face, oracle.over(Epsilon(epsilon), face.slots if oracle.listed else 6))


def honest_bodies(faces: TwoFaces, number: int) -> list[bytes]:
    entropy = FixedEntropy(3)
    values = faces.values
    return [faces.face.encode(faces.face.draw(entropy).report(values[i % len(values)])) for i in range(number)]


def any_bodies(faces: TwoFaces) -> Iterator[bytes]:
    """Bytes of the right length: honest ones, honest ones with a bit flipped, random ones, and both ends."""
    randomness, width = np.random.default_rng(4), faces.face.width
    yield from (bytes(width), b"\xff" * width)
    for body in honest_bodies(faces, 50):
        yield body
        place = int(randomness.integers(width))
        yield body[:place] + bytes([body[place] ^ 1 << int(randomness.integers(8))]) + body[place + 1 :]
        yield randomness.bytes(width)


def test_a_report_counts_for_what_it_supports(faces: TwoFaces) -> None:
    """The naive twin of the compiled loops: one report and one value at a time, from the same bytes."""
    bodies = honest_bodies(faces, 200)
    reports = [faces.face.checked(body) for body in bodies]
    expected = [sum(faces.face.supports(report, value) for report in reports) for value in faces.values]
    found = faces.counting.support(faces.columns(bodies), faces.face.slots, faces.keys)
    assert found.tolist() == expected
    assert faces.counting.report_slots == faces.face.slots


def test_the_wire_has_the_numbers_of_the_columns(faces: TwoFaces) -> None:
    layout = faces.counting.layout(faces.face.slots)
    assert layout.itemsize == faces.face.width
    bodies = honest_bodies(faces, 30)
    columns = faces.columns(bodies)
    records = np.empty(30, dtype=layout.newbyteorder(">"))
    for name, column in zip(layout.names or (), columns, strict=True):
        records[name] = column
    assert [record.tobytes() for record in records] == bodies
    assert faces.counting.in_range(columns, faces.face.slots)


def test_what_can_be_read_is_what_can_be_counted(faces: TwoFaces) -> None:
    """`readable` is `checked` without its value; both say what the counting face has room for."""
    read = 0
    for body in any_bodies(faces):
        try:
            report = faces.face.checked(body)
        except ReportRefused:
            assert not faces.face.readable(body)
            assert not DeviceFace.readable(faces.face, body)
            assert not faces.counting.in_range(faces.columns([body]), faces.face.slots)
            continue
        read += 1
        assert faces.face.readable(body)
        assert DeviceFace.readable(faces.face, body)
        assert faces.face.encode(report) == body
        assert faces.counting.in_range(faces.columns([body]), faces.face.slots)
    assert read >= 50


@pytest.mark.parametrize("more", [-1, 1])
def test_a_body_of_another_length_is_refused(faces: TwoFaces, more: int) -> None:
    with pytest.raises(ReportRefused, match=f"expected {faces.face.width}, found {faces.face.width + more}"):
        faces.face.checked(bytes(faces.face.width + more))


def test_a_draw_reads_what_the_face_declares(faces: TwoFaces) -> None:
    """Words and seeds have one length; of integers below a bound a draw reads one or more."""
    entropy = CountingEntropy(FixedEntropy(6).read)
    faces.face.draw(entropy)
    fixed, pieces = 0, []
    for need in faces.face.randomness:
        match need:
            case Words(count):
                fixed += 8 * count
            case Seed(length):
                fixed += length
            case Below(bound):
                pieces.append(((bound - 1).bit_length() + 7) // 8)
    more = entropy.taken - fixed
    assert more == 0 if not any(pieces) else more >= sum(pieces) and more % math.gcd(*pieces) == 0


class RecordedWords(RandomWords):
    """Seeded words, and which of them were handed out."""

    def __init__(self) -> None:
        self._words = seeded(8)
        self.words: list[Words64] = []
        self.seeds: list[Words32] = []
        self.numbers: dict[int, list[Words32]] = {}

    def words64(self, count: int) -> Words64:
        self.words.append(self._words.words64(count))
        return self.words[-1]

    def words32(self, count: int) -> Words32:
        self.seeds.append(self._words.words32(count))
        return self.seeds[-1]

    def below(self, bound: int, count: int) -> Words32:
        drawn = self._words.below(bound, count)
        self.numbers.setdefault(bound, []).append(drawn.copy())  # whoever asked may change it
        return drawn

    def drawn(self, face: DeviceFace, reports: int) -> list[tuple[Any, ...]]:
        """Return what a device would have drawn for each report."""
        parts: list[list[Any]] = []
        for need in face.randomness:
            match need:
                case Words(count):
                    parts.append([tuple(row) for row in self.words.pop(0).reshape(reports, count).tolist()])
                case Seed():
                    parts.append(self.seeds.pop(0).tolist())
                case Below(bound):
                    parts.append(self.numbers[bound].pop(0).tolist())
        return list(zip(*parts, strict=True))


def test_many_devices_at_once_report_what_each_of_them_would(faces: TwoFaces) -> None:
    """The vectorised perturbation, word for word, is that of the device's own face."""
    if faces.oracle.tag >= FOREIGN:
        pytest.skip(
            "an oracle of another package may draw otherwise; tests/statistical/test_oracle_laws.py has its law"
        )
    reports, words = 60, RecordedWords()
    values = [faces.values[i % len(faces.values)] for i in range(reports)]
    columns = faces.counting.perturb(values_of(faces.counting, np.array(values, dtype=np.uint64)), words)
    drawn = words.drawn(faces.face, reports)
    bodies = [faces.face.encode(faces.face.report(*pair)) for pair in zip(drawn, values, strict=True)]
    for made, sent in zip(columns, faces.columns(bodies), strict=True):
        np.testing.assert_array_equal(made, sent)


def test_what_an_oracle_may_leave_to_its_base_class(oracle: FrequencyOracle[Any]) -> None:
    """Without words of its own an oracle shows its columns, and a report has the bits of its layout."""
    values = np.zeros(3, dtype=np.uint32 if oracle.listed else np.uint64)
    columns = oracle.perturb(values, GeneratorWords(np.random.default_rng(6)))
    assert FrequencyOracle.as_reports(oracle, columns) is columns
    assert len(oracle.as_reports(columns)) in {len(values), len(columns)}
    whole_bytes = FrequencyOracle.report_bits.__get__(oracle)
    assert whole_bytes % 8 == 0
    assert 0 < oracle.report_bits <= whole_bytes
