"""An evaluation: rows of means with standard errors, as a table and in a file."""

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.csv
import pyarrow.parquet

from treetop.errors import InvalidInput
from treetop.evaluation.grid import Cell
from treetop.extras import needed_for
from treetop.query.find import Score
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
        mechanism=cell.name,
        oracle=cell.parameters.oracle_name,
        encoding=population.codec.name,
        epsilon=float(cell.parameters.epsilon),
        k=cell.parameters.k,
        levels=cell.mechanism.levels(cell.parameters),
        repeats=len(scores),
        f1=mean([score.f1 for score in scores]),
        f1_se=standard_error([score.f1 for score in scores]),
        ncr=mean([score.ncr for score in scores]),
        ncr_se=standard_error([score.ncr for score in scores]),
        local_recall=mean([score.local_recall for score in scores]),
        uplink_bits=mean([score.uplink_bits for score in scores]),
        seconds=mean([score.seconds for score in scores]),
    )


def mean(values: Sequence[float]) -> float:
    """Return the mean of some repetitions."""
    return float(np.mean(values))


def standard_error(values: Sequence[float]) -> float | None:
    """Return the standard error of their mean, where there are two at least."""
    return float(np.std(values, ddof=1)) / sqrt(len(values)) if len(values) > 1 else None


@dataclass(frozen=True, repr=False)
class Evaluation:
    """The rows of a grid in its order, what to know about them, and the seed that gives them again."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    seed: int

    @cached_property
    def table(self) -> pa.Table:
        """Return the rows as a pyarrow table; the seed stands in its metadata."""
        kinds: dict[Any, Any] = {str: pa.string(), int: pa.int64(), float: pa.float64(), float | None: pa.float64()}
        columns = [(field.name, kinds[field.type]) for field in fields(Row)]
        return pa.Table.from_pylist(self.to_json(), schema=pa.schema(columns, metadata={"seed": str(self.seed)}))

    def to_json(self) -> list[dict[str, Any]]:
        """Return the rows as `treetop evaluate --json` prints them."""
        return [asdict(row) for row in self.rows]

    def to_pandas(self) -> Any:
        """Return the rows as a pandas DataFrame; needs the extra `pandas`."""
        with needed_for("a DataFrame", "pandas"):
            return self.table.to_pandas()

    def write(self, path: Path) -> None:
        """Write the rows to Parquet or CSV, whole or not at all."""
        write_table(self.table, path)

    def __repr__(self) -> str:
        best = max(self.rows, key=lambda row: row.f1, default=None)
        found = "" if best is None else f"; best F1 {best.f1:.2f} by {best.mechanism}"
        return f"Evaluation({len(self.rows)} rows, seed {self.seed}{found})"


def write_table(table: pa.Table, path: Path) -> None:
    """Write a table to Parquet or CSV, whole or not at all."""
    partial = path.with_name(f".{path.name}.partial")
    if path.suffix.lower() == ".csv":
        pa.csv.write_csv(without_formulas(table), partial)
    else:
        pa.parquet.write_table(table, partial)
    os.replace(partial, path)


def without_formulas(table: pa.Table) -> pa.Table:
    """Put an apostrophe before texts that a spreadsheet would take for a formula; numbers stay as they are."""
    for place, column in enumerate(table.schema):
        if pa.types.is_string(column.type):
            texts = pa.compute.replace_substring_regex(table[column.name], r"\A([=+\-@\t\r])", r"'\1")
            table = table.set_column(place, column, texts)
    return table


def checked_output(path: Path) -> Path:
    """Refuse, before anything is run, a file that could not be written."""
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput(f"{path}: expected an output ending in {' or '.join(ENDINGS)}")
    if path.is_dir() or not path.parent.is_dir():
        raise InvalidInput(f"{path}: expected a file in a folder that exists")
    return path
