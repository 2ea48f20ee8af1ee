"""Results of a reproduction as Parquet: the same bytes for the same seed, with everything timed kept apart."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

from treetop.mechanisms.parameters import Parameters
from treetop.query.find import Score
from treetop.reproduction.run import Reproduction
from treetop.reproduction.specification import Planned
from treetop.reproduction.verdicts import summary
from treetop.whole_files import write_whole

RESULTS = "results.parquet"
RUNS = "runs.parquet"
TIMINGS = "timings.parquet"

_TEXT = pa.string()
_WHOLE = pa.int64()
_NUMBER = pa.float64()
_CELL = [
    ("federation", _TEXT),
    ("data", _TEXT),
    ("user_share", _NUMBER),
    ("draw", _WHOLE),
    ("concentration", _NUMBER),
    ("mechanism", _TEXT),
    ("oracle", _TEXT),
    ("encoding", _TEXT),
    ("epsilon", _NUMBER),
    ("k", _WHOLE),
    ("levels", _WHOLE),
    ("settings", _TEXT),
    ("repeats", _WHOLE),
]
_MEASURED = ("f1", "ncr", "local_recall", "uplink_bits")


def write_results(reproduction: Reproduction, folder: Path) -> None:
    """Write means, single runs and times, each file whole or not at all."""
    write_table(_results(reproduction), folder / RESULTS)
    write_table(_runs(reproduction), folder / RUNS)
    write_table(_timings(reproduction), folder / TIMINGS)


def write_table(table: pa.Table, path: Path) -> None:
    """Write a Parquet file whole or not at all."""
    buffer = pa.BufferOutputStream()
    pa.parquet.write_table(table, buffer)
    write_whole(path, buffer.getvalue().to_pybytes())


def _results(reproduction: Reproduction) -> pa.Table:
    """One row per cell: means with standard errors."""
    columns = [*_CELL, *((name + end, _NUMBER) for name in _MEASURED for end in ("", "_se"))]
    rows = [{**cell, **_means(scores, _MEASURED)} for cell, scores in _cells(reproduction)]
    return _table(rows, columns, reproduction)


def _timings(reproduction: Reproduction) -> pa.Table:
    """One row per cell: seconds, which are never the same twice."""
    columns = [*_CELL, ("seconds", _NUMBER), ("seconds_se", _NUMBER)]
    return _table(
        [{**cell, **_means(scores, ["seconds"])} for cell, scores in _cells(reproduction)], columns, reproduction
    )


def _runs(reproduction: Reproduction) -> pa.Table:
    """One row per run; `cell` is the row of the results it belongs to."""
    columns = [("cell", _WHOLE), ("repetition", _WHOLE), *((name, _NUMBER) for name in _MEASURED)]
    rows = [
        {"cell": index, "repetition": number, **{name: getattr(score, name) for name in _MEASURED}}
        for index, (_, scores) in enumerate(_cells(reproduction))
        for number, score in enumerate(scores)
    ]
    return _table(rows, columns, reproduction)


def _table(rows: list[dict[str, Any]], columns: list[tuple[str, Any]], reproduction: Reproduction) -> pa.Table:
    schema = pa.schema(columns, metadata={"seed": str(reproduction.settings.seed)})
    return pa.Table.from_pylist(rows, schema=schema)


def _means(scores: Sequence[Score], names: Sequence[str]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in names:
        means[name], means[f"{name}_se"] = summary(scores, name)
    return means


def _cells(reproduction: Reproduction) -> Iterator[tuple[dict[str, Any], Sequence[Score]]]:
    for planned, scores in reproduction.measurements.scores.items():
        yield {**_description(planned, reproduction), "repeats": len(scores)}, scores


def _description(planned: Planned, reproduction: Reproduction) -> dict[str, Any]:
    variant = planned.variant
    parameters = planned.cell.parameters
    found = reproduction.provenances[variant.federation]
    return {
        "federation": variant.federation,
        "data": found.path.name if found.path else found.word(variant.draw, variant.concentration),
        "user_share": variant.share,
        "draw": variant.draw,
        "concentration": variant.concentration,
        "mechanism": planned.cell.mechanism.name,
        "oracle": parameters.oracle,
        "encoding": found.encoding,
        "epsilon": float(parameters.epsilon),
        "k": parameters.k,
        "levels": len(planned.cell.mechanism.levels(parameters)),
        "settings": " ".join(f"{name}={value}" for name, value in changed_settings(parameters).items()),
    }


def changed_settings(parameters: Parameters) -> dict[str, str]:
    """Return the settings that are not the default, as `--set` takes them."""
    return {name: _as_typed(value) for name, value in parameters.changed().items()}


def _as_typed(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
