"""Counting on a graphics card: `PYTHONPATH=src python3 benchmarks/gpu_counting.py`; needs numpy and CuPy alone.

Prints one line for each fact: equality with numpy on a small case, pairs per second with the reports resident, and
the time from arrays in main memory to counts in main memory; for walsh those of all names of 24 bits.
"""

import sys
from time import perf_counter
from typing import Any

import numpy as np

from treetop.oracles.hashing import buckets, outcomes, premixed

REPORTS, CANDIDATES, BUCKETS = 6_500_000, 160_000, 9
SMALL_REPORTS, SMALL_CANDIDATES = 70_001, 1_333
TARGET = 1000.0
"""G pairs per second on an H200."""
SHAPES = ((64, 8, 512), (128, 4, 512), (128, 8, 256), (128, 8, 512), (128, 16, 512), (256, 4, 512), (256, 8, 1024))


def card() -> tuple[Any, Any]:
    """Return the modules of the card, or leave with the reason why there is none."""
    try:
        import cupy  # noqa: PLC0415

        if not cupy.is_available():
            sys.exit("CuPy is installed, but it finds no graphics card")
        from treetop.adapters.cupy import olh_support, walsh_spectrum  # noqa: PLC0415
    except ImportError as missing:
        sys.exit(f"this benchmark needs CuPy (pip install 'treetop-ldp[gpu]'): {missing}")
    return olh_support, walsh_spectrum


def random_reports(reports: int, slots: int = BUCKETS) -> tuple[Any, Any]:
    randomness = np.random.default_rng(1)
    seeds = randomness.integers(2**32, size=reports, dtype=np.uint32)
    return seeds, randomness.integers(slots, size=reports).astype(np.uint8)


def keys_of(candidates: int) -> Any:
    return np.arange(candidates, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def with_numpy(seeds: Any, reported: Any, keys: Any) -> Any:
    words = zip(*premixed(keys), strict=True)
    return np.array([np.count_nonzero(buckets(seeds, *word, BUCKETS) == reported) for word in words])


def equality(module: Any, shape: Any) -> bool:
    seeds, reported = random_reports(SMALL_REPORTS)
    keys = keys_of(SMALL_CANDIDATES)
    counter = module.SupportCounter(keys, shape)
    counter.add(module.ResidentReports(seeds, reported, BUCKETS))
    return bool(np.array_equal(counter.counts(), with_numpy(seeds, reported, keys)))


def best(times: int, work: Any) -> float:
    """Return the least wall time of several tries; every try ends when the card is done."""
    durations = []
    for _ in range(times):
        begin = perf_counter()
        work()
        durations.append(perf_counter() - begin)
    return min(durations)


def resident_rate(module: Any, shape: Any, reports: Any, keys: Any, times: int = 5) -> float:
    """Return G pairs per second, reports and candidates being on the card."""
    counter = module.SupportCounter(keys, shape)

    def work() -> None:
        counter.add(reports)
        module.cupy.cuda.Device().synchronize()

    work()
    return len(reports) * len(keys) / best(times, work) / 1e9


def end_to_end(module: Any, seeds: Any, reported: Any, keys: Any) -> float:
    def work() -> None:
        counter = module.SupportCounter(keys)
        counter.add(module.ResidentReports(seeds, reported, BUCKETS))
        counter.counts()

    work()
    return best(3, work)


def support_of_names(module: Any, bits: int, slots: int, columns: Any) -> Any:
    spectrum = module.CardSpectrum(bits, slots, len(columns[0]))
    spectrum.add(*columns)
    return spectrum.tally().support


def walsh(module: Any) -> bool:
    """Every name of 10 bits against numpy, then the time of all names of 24 and 26 bits, copies included."""
    seeds, reported = columns = random_reports(20_000, 8)
    names = np.arange(1 << 10, dtype=np.uint64)
    by_numpy = np.array([np.count_nonzero(outcomes(seeds, name, 8) == reported) for name in names])
    equal = bool(np.array_equal(support_of_names(module, 10, 8, columns), by_numpy))
    print(f"walsh, equal to numpy on 20,000 x 1,024: {'yes' if equal else 'NO'}")
    for bits, slots in ((24, 8), (24, 64), (26, 64)):
        many = random_reports(REPORTS, slots)
        support_of_names(module, bits, slots, many)
        seconds = best(3, lambda bits=bits, slots=slots, many=many: support_of_names(module, bits, slots, many))
        print(f"walsh, g = {slots}: {REPORTS:,} reports over 2^{bits} names in {seconds * 1e3:.0f} ms, copies included")
    return equal


def main() -> None:
    module, spectra = card()
    properties = module.cupy.cuda.runtime.getDeviceProperties(0)
    print(f"card: {properties['name'].decode()}, {properties['multiProcessorCount']} multiprocessors")
    seeds, reported = random_reports(REPORTS)
    keys = keys_of(CANDIDATES)
    reports = module.ResidentReports(seeds, reported, BUCKETS)
    equal = equality(module, module.SHAPE)
    print(f"equal to numpy on {SMALL_REPORTS:,} x {SMALL_CANDIDATES:,}: {'yes' if equal else 'NO'}")
    for sizes in SHAPES if "--shapes" in sys.argv else ():
        shape = module.Shape(*sizes)
        rate = resident_rate(module, shape, reports, keys, 3)
        print(f"{shape}: {rate:,.0f} G pairs/s, equal: {equality(module, shape)}")
    rate = resident_rate(module, module.SHAPE, reports, keys)
    print(f"resident: {rate:,.0f} G pairs/s (target {TARGET:,.0f}: {'reached' if rate >= TARGET else 'MISSED'})")
    seconds = end_to_end(module, seeds, reported, keys)
    print(f"end to end, copies and compilation's cache included: {REPORTS:,} x {CANDIDATES:,} in {seconds:.2f} s")
    equal = walsh(spectra) and equal
    sys.exit(0 if equal and rate >= TARGET else 1)


if __name__ == "__main__":
    main()
