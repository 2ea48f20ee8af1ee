"""An evaluation: rows of means with standard errors, as a table and in a file."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from math import sqrt
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from treetop.answers.result_files import html_table, html_text, write_result
from treetop.evaluation.grid import Cell
from treetop.extras import needed_for
from treetop.query.find import Score
from treetop.simulation.population import Population
from treetop.wording import Note

MEANINGS = (
    "F1: how well the k items found match the true top k, 1 at best. NCR: the same, the most popular weighing most. "
    "recall: the share of the true top k that is in a party's own top k, on average; where parties are unlike each "
    "other it is low, however good the common answer is. kbit up: what a party sends. ms: time of one run."
)


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

    @property
    def cells(self) -> tuple[str, ...]:
        """Return the row as people read it: mechanism, oracle, epsilon, k, F1, NCR, recall, kilobits, milliseconds."""
        f1, ncr = (
            f"{mean:.3f}" if error is None else f"{mean:.3f} ± {error:.3f}"
            for mean, error in ((self.f1, self.f1_se), (self.ncr, self.ncr_se))
        )
        costs = (f"{self.local_recall:.3f}", f"{self.uplink_bits / 1000:.1f}", f"{self.seconds * 1000:.0f}")
        return (self.mechanism, self.oracle, f"{self.epsilon:g}", str(self.k), f1, ncr, *costs)


def row_of(population: Population, cell: Cell, scores: Sequence[Score]) -> Row:
    """Average the repetitions of a cell."""
    return Row(
        data=population.federation.name,
        mechanism=cell.name,
        oracle=cell.parameters.oracle_name,
        encoding=population.codec.name,
        epsilon=float(cell.parameters.epsilon),
        k=cell.parameters.k,
        levels=len(cell.mechanism.levels(cell.parameters)),
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
    notes: tuple[Note, ...]
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

    def write(self, path: str | Path) -> None:
        """Write the rows to .parquet, .csv, .json or .html, whole or not at all."""
        write_result(path, self.table, self.to_json(), self._repr_html_())

    def _repr_html_(self) -> str:
        """Return the rows as notebooks show them."""
        names = ["mechanism", "oracle", "ε", "k", "F1", "NCR", "recall", "kbit up", "ms"]
        rows = [[html_text(cell) for cell in row.cells] for row in self.rows]
        repeats = self.rows[0].repeats if self.rows else 0
        title = f"Means of {repeats} runs ± standard error, seed {self.seed}"
        return html_table(title, names, rows, 2, [MEANINGS, *(note.text for note in self.notes)])

    def __repr__(self) -> str:
        best = max(self.rows, key=lambda row: row.f1, default=None)
        found = "" if best is None else f"; best F1 {best.f1:.2f} by {best.mechanism}"
        return f"Evaluation({len(self.rows)} rows, seed {self.seed}{found})"
