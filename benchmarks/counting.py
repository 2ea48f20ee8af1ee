"""Counting reports that are in memory: ours, numpy, the peers, and a C loop as the limit; one core each."""

import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np

from benchmarks.measuring import Measured, Row, best_of, best_of_each, times_as_fast
from benchmarks.olh_limit import Limit
from benchmarks.peers import compared, multi_freq_counting, pure_ldp_counting
from treetop.oracles.frequency_oracle import NO_KEYS, Columns, Keys
from treetop.oracles.hashing import buckets, premixed
from treetop.oracles.krr.counting import SlotCounting
from treetop.oracles.olh.counting import HashCounting
from treetop.oracles.oue.counting import BitsCounting
from treetop.oracles.random_words import GeneratorWords
from treetop.oracles.walsh.counting import ParityCounting
from treetop.oracles.walsh.spectrum import Spectrum
from treetop.privacy.epsilon import Epsilon

TITLE = "Counting in memory, one core"
LIMITS = """
What limits: **OLH is bound by arithmetic.** Candidates (12 KB) stay in the L1 cache and a report is read once for
1,024 of them, so there is next to nothing to load; the C loop, which keeps candidates in registers and loads three
words for 64 pairs, is hardly faster, and a pair costs 14 vector instructions, three of them multiplications. **OUE is
bound by arithmetic in the L1 cache**, namely the adders' logic: merely summing the same words is two to three times as
fast, and blocks of 64 bytes instead of 4 KB take three times as long. **k-RR is bound by one store for each report**:
with 80 % of the reports on one slot, one table takes 3.5 times as long as four, because a slot that is reported twice
in a row waits for its own last store; from 2,000 slots on, four tables no longer fit in the L1 cache. **Walsh is
bound by adding signs**, n (g - 1) of them, which fall anywhere among the 2^b cells. Added one by one they wait for
memory, 13 to 24 ns each; gathered first by the high bits of their cells, in two bytes each, they take 5 to 9 ns. With
2^18 cells, which fit the cache, it is 3 to 5 ns. The transform goes through memory twice and takes a third of the time
at epsilon 2, a tenth at epsilon 4. **The peers** are
bound by Python, one call or one object for each report or pair; **numpy's loops** by temporary arrays that go through
memory at every step of the hash.
"""
RANDOM = np.random.default_rng(1)
ORACLE = HashCounting(Epsilon(2.0), 1001)


def measure() -> list[Row]:
    return [*walsh(), *olh(), *krr(200, np.uint8), *krr(2000, np.uint16), *oue()]


def hashed(reports: int) -> tuple[Columns, Keys]:
    keys = RANDOM.integers(2**64, size=1000, dtype=np.uint64)
    return ORACLE.perturb(RANDOM.choice(keys, size=reports), GeneratorWords(RANDOM)), keys


def walsh(reports: int = 6_500_000) -> list[Row]:
    """All names of 24 bits, and a catalogue of 2^18 names; of OLH's pairs one in 16,640 is counted."""
    numbers, rows = np.arange(reports, dtype=np.int32), list[Row]()
    shuffled = best_of(3, lambda: RANDOM.shuffle(numbers))
    for epsilon, limit in ((2.0, 4.0), (4.0, None)):
        columns, slots = parities(reports, epsilon)
        decoded = best_of(3, partial(every_name, 24, slots, columns))
        what = f"walsh at epsilon {epsilon:g}: {reports:,} reports decoded over 2^24 names / shuffling as many int32"
        rows.append(Measured(what, decoded / shuffled, limit, decoded, shuffled))
    names = np.arange(1 << 18, dtype=np.uint64)
    hashing = HashCounting(Epsilon(4.0), 2)
    hashes = hashing.perturb(RANDOM.integers(1 << 18, size=100_000).astype(np.uint64), GeneratorWords(RANDOM))
    pairs = best_of(3, lambda: HashCounting.support(hashes, hashing.report_slots, names[:1024]))
    ours = best_of(2, lambda: ParityCounting.support(columns, slots, names))
    what = f"walsh at epsilon 4: {reports:,} reports x a catalogue of 262,144 names, times as fast as pairs of OLH"
    rows.append(times_as_fast(what, ours, pairs * (reports / 100_000) * 256, 100))
    peak = memory_of(24, slots, columns)
    rows.append(Measured(f"walsh over 2^24 names: highest memory beside the reports / 200 MB ({peak / 1e6:.0f} MB)",
                         peak / 200e6, 1.0, 0.0, 0.0))  # fmt: skip
    return rows


def parities(reports: int, epsilon: float) -> tuple[Columns, int]:
    oracle = ParityCounting(Epsilon(epsilon), 2)
    values = RANDOM.integers(1 << 24, size=reports).astype(np.uint64)
    return oracle.perturb(values, GeneratorWords(RANDOM)), oracle.report_slots


def every_name(bits: int, slots: int, columns: Columns) -> None:
    spectrum = Spectrum(bits, slots)
    spectrum.add(columns)
    spectrum.tally()


def memory_of(bits: int, slots: int, columns: Columns) -> int:
    """Return the most bytes of arrays that are there at once; the loops themselves allocate next to nothing."""
    tracemalloc.start()
    every_name(bits, slots, columns)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def olh() -> list[Row]:
    """Pairs: 100,000 reports x 1,000 candidates, of which numpy does 2 % and the peers less."""
    reports, keys = hashed(100_000)
    seeds, reported = reports
    few = tuple(column[:2000] for column in reports)
    count, limit = ORACLE.report_slots, Limit()
    assert np.array_equal(limit.support(seeds, reported, keys, count), HashCounting.support(reports, count, keys))
    ours, c_loop, numpy_loop = best_of_each(
        9,
        lambda: HashCounting.support(reports, count, keys),
        lambda: limit.support(seeds, reported, keys, count),
        lambda: with_numpy(few, keys),
    )
    pairs, size = 1e8, 64
    what = f"OLH, {pairs / ours / 1e9:.2f} G pairs/s"
    return [
        times_as_fast(f"{what} / a C loop with {limit.vectors}", ours, c_loop, 0.75),
        times_as_fast(f"{what}, times as fast as numpy", ours, numpy_loop * 50, 30),
        compared(f"{what}, times as fast as pure-ldp", ours, lambda: pairs * per_pair(pure_ldp_counting, size), 1000),
        compared(
            f"{what}, times as fast as multi-freq-ldpy", ours, lambda: pairs * per_pair(multi_freq_counting, size)
        ),
    ]


def with_numpy(reports: Columns, keys: Keys) -> None:
    """The hash as its file has it, one candidate after the other."""
    seeds, reported = reports
    for low, high in zip(*premixed(keys), strict=True):
        np.count_nonzero(buckets(seeds, low, high, ORACLE.report_slots) == reported)


def per_pair(counting: Callable[[str, int, int], float], size: int) -> float:
    """Return a peer's seconds for one pair of report and candidate."""
    return counting("LH", size, 1000) / size


def krr(size: int, dtype: type[np.unsignedinteger]) -> list[Row]:
    slots = RANDOM.integers(size, size=10_000_000).astype(dtype)
    wide = slots.astype(np.int64)
    ours, same, best = best_of_each(
        5,
        lambda: SlotCounting.support((slots,), size, NO_KEYS),
        lambda: np.bincount(slots, minlength=size),
        lambda: np.bincount(wide, minlength=size),
    )
    what = f"k-RR, {size} slots, {1e7 / ours / 1e9:.2f} G reports/s, times as fast as"
    rows: list[Row] = [
        times_as_fast(f"{what} numpy.bincount", ours, same, 2.5),
        times_as_fast(f"{what} numpy.bincount of int64, which it prefers", ours, best),
    ]
    if size == 200:
        rows += [
            compared(f"{what} pure-ldp", ours, lambda: pure_ldp_counting("DE", size, 20_000) * 1e7),
            compared(f"{what} multi-freq-ldpy", ours, lambda: multi_freq_counting("GRR", size, 20_000) * 1e7),
        ]
    return rows


def oue(size: int = 256) -> list[Row]:
    packed = RANDOM.integers(256, size=(2_000_000, size // 8), dtype=np.uint8)
    words = packed.view(np.uint64)
    ours, summed = best_of_each(5, lambda: BitsCounting.support((packed,), size, NO_KEYS), words.sum)
    unpacked = best_of(2, lambda: np.unpackbits(packed[:200_000], axis=1).sum(axis=0)) * 10
    what = f"OUE, {size} slots, {packed.size / ours / 1e9:.1f} GB/s, times as fast as"
    return [
        compared(f"{what} multi-freq-ldpy", ours, lambda: multi_freq_counting("UE", size, 20_000) * 2e6, 30),
        compared(f"{what} pure-ldp", ours, lambda: pure_ldp_counting("UE", size, 20_000) * 2e6),
        times_as_fast(f"{what} numpy, unpacked", ours, unpacked),
        times_as_fast(f"{what} merely summing the words", ours, summed),
    ]
