"""Rows of results, and the files they are kept in."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from treetop.errors import InvalidInput
from treetop.evaluation.grid import Cell
from treetop.query.score import Score
from treetop.simulation.population import Population

ENDINGS = (".parquet", ".csv")


@dataclass(frozen=True)
class Row:
    """One cell: means over its repetitions, with standard errors where there are two repetitions at least."""

    data: str
    mechanism: str
    oracle: str
    encoding: str
    epsilon: float
    k: int
    levels: int
    repeats: int
    f1: float
    f1_se: float | None
    ncr: float
    ncr_se: float | None
    local_recall: float
    uplink_bits: float
    seconds: float


def row_of(population: Population, cell: Cell, scores: Sequence[Score]) -> Row:
    """Average the repetitions of a cell."""
    return Row(
        data=population.federation.name,
        mechanism=cell.mechanism.name,
        oracle=cell.parameters.oracle,
        encoding=population.codec.name,
        epsilon=float(cell.parameters.epsilon),
        k=cell.parameters.k,
        levels=cell.mechanism.levels(cell.parameters),
        repeats=len(scores),
        f1=_mean([score.f1 for score in scores]),
        f1_se=_standard_error([score.f1 for score in scores]),
        ncr=_mean([score.ncr for score in scores]),
        ncr_se=_standard_error([score.ncr for score in scores]),
        local_recall=_mean([score.local_recall for score in scores]),
        uplink_bits=_mean([score.uplink_bits for score in scores]),
        seconds=_mean([score.seconds for score in scores]),
    )


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values))


def _standard_error(values: Sequence[float]) -> float | None:
    return float(np.std(values, ddof=1)) / sqrt(len(values)) if len(values) > 1 else None


def table_of(rows: Sequence[Row], seed: int) -> pa.Table:
    """Return rows as a pyarrow table; the seed stands in its metadata."""
    kinds: dict[Any, Any] = {str: pa.string(), int: pa.int64(), float: pa.float64(), float | None: pa.float64()}
    schema = pa.schema([(field.name, kinds[field.type]) for field in fields(Row)], metadata={"seed": str(seed)})
    return pa.Table.from_pylist([asdict(row) for row in rows], schema=schema)


def checked_output(path: Path) -> Path:
    """Refuse, before anything is run, a file that could not be written."""
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput(f"{path}: expected an output ending in {' or '.join(ENDINGS)}")
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidInput(f"{path}: expected a file in a folder that exists")
    return path


def write(rows: Sequence[Row], seed: int, path: Path) -> None:
    """Write rows to Parquet or CSV, whole or not at all."""
    table = table_of(rows, seed)
    partial = path.with_name(f".{path.name}.partial")
    if path.suffix.lower() == ".csv":
        pa.csv.write_csv(table, partial)
    else:
        pa.parquet.write_table(table, partial)
    os.replace(partial, path)
