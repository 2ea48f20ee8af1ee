"""Report files that several tests count."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from treetop.adapters.report_files.counting import Candidates
from treetop.adapters.report_files.sealed_file import ReportFileWriter, ReportKind
from treetop.oracles.frequency_oracle import Columns
from treetop.oracles.hashing import buckets, outcomes, premixed

TASK = "5eed" * 16
KINDS = {
    "krr": ReportKind(TASK, 3, "krr", 41),
    "krr wide": ReportKind(TASK, 3, "krr", 3000),
    "oue": ReportKind(TASK, 3, "oue", 41),
    "olh": ReportKind(TASK, 3, "olh", 9),
    "olh wide": ReportKind(TASK, 3, "olh", 1000),
    "walsh": ReportKind(TASK, 3, "walsh", 8),
}
KEYS = np.arange(1000, 1077, dtype=np.uint64) * np.uint64(0x1234567)


def random_reports(kind: ReportKind, reports: int, seed: int = 1) -> Columns:
    randomness = np.random.default_rng(seed)
    narrow = np.min_scalar_type(kind.slots - 1)
    if kind.oracle == "oue":
        return (np.packbits(randomness.random((reports, kind.slots)) < 0.3, axis=1),)
    values = randomness.integers(kind.slots, size=reports).astype(narrow)
    if kind.oracle == "krr":
        return (values,)
    return randomness.integers(2**32, size=reports, dtype=np.uint32), values


def support_by_numpy(seeds: Any, reported: Any, keys: Any, count: int) -> Any:
    """The naive twin of OLH counting: the hash as its file has it, one candidate after the other."""
    words = zip(*premixed(keys), strict=True)
    return np.array([np.count_nonzero(buckets(seeds, low, high, count) == reported) for low, high in words])


def parities_by_numpy(columns: Columns, keys: Any, count: int) -> Any:
    """The naive twin of walsh counting: the hash as its file has it, one key after the other."""
    seeds, reported = columns
    return np.array([np.count_nonzero(outcomes(seeds, key, count) == reported) for key in keys])


def asking(kind: ReportKind) -> Candidates:
    return Candidates(kind) if kind.counting.listed else Candidates(kind, KEYS)


def written(path: Path, kind: ReportKind, columns: Sequence[np.ndarray], rows_per_group: int = 1000) -> Path:
    with ReportFileWriter(path, kind, rows_per_group) as writer:
        for part in stretches(columns, 777):
            writer.append(*part)
    return path


def stretches(columns: Sequence[np.ndarray], length: int) -> Iterable[Columns]:
    for start in range(0, len(columns[0]), length):
        yield tuple(column[start : start + length] for column in columns)
