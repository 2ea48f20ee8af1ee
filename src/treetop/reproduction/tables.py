"""Tables of the report: our number beside the paper's, with the command that gives it again."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from treetop.reproduction.commands import commands_for
from treetop.reproduction.paper_values import printed
from treetop.reproduction.point import Point
from treetop.reproduction.run import Reproduction
from treetop.reproduction.specification import Series, Specification
from treetop.reproduction.verdicts import AGAINST, FOR, OPEN, ClaimVerdict, Lookup, Measured, mean_difference

METRIC_NAMES = {
    "f1": "F1",
    "ncr": "NCR",
    "local_recall": "average local recall",
    "uplink_bits": "uplink of a party, kbit",
    "seconds": "seconds of a run",
}
NOTHING = "–"


@dataclass(frozen=True)
class Entry:
    """One place of a table: what we measured, and what the paper prints there."""

    ours: str
    paper: str = ""


@dataclass(frozen=True)
class TableRow:
    """One row: what it is about, its entries, and the commands that give them again."""

    heads: tuple[str, ...]
    entries: tuple[Entry, ...]
    commands: tuple[str, ...] = ()
    remark: str = ""


@dataclass(frozen=True)
class ReportTable:
    """A table for a reader, whatever it will be written in."""

    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]


def tables_of(specification: Specification, reproduction: Reproduction) -> list[ReportTable]:
    """Return the tables of one specification; a figure's numbers are a table, too."""
    if specification.kind == "figure":
        return [_figure_numbers(specification, reproduction)]
    table = _table_across if specification.federations_across else _metric_table
    return [table(specification, metric, reproduction) for metric in specification.metrics]


def number(measured: Measured | None, metric: str, computed: bool = False) -> str:
    """Write a mean with its standard error; what was computed rather than measured has none."""
    if measured is None:
        return NOTHING
    digits, scale = (1, 1000) if metric == "uplink_bits" else (3, 1)
    error = "" if measured.stderr is None or computed else f" ± {measured.stderr / scale:.{digits}f}"
    return f"{measured.mean / scale:,.{digits}f}{error}"


def printed_number(value: float | str | None, metric: str) -> str:
    """Write what the paper prints."""
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value / 1000:g}" if metric == "uplink_bits" else f"{value:g}"


def _metric_table(specification: Specification, metric: str, reproduction: Reproduction) -> ReportTable:
    computed = [name.upper() for name in specification.computed if metric == "uplink_bits"]
    labels = [*(series.label for series in specification.series), *computed]
    heads = ("federation", "case") if len(specification.cases) > 1 else ("federation",)
    rows = tuple(_metric_row(specification, metric, point, labels, reproduction) for point in specification.points())
    return ReportTable(METRIC_NAMES[metric], heads, tuple(labels), rows)


def _table_across(specification: Specification, metric: str, reproduction: Reproduction) -> ReportTable:
    columns = tuple(federation_name(name, reproduction) for name in specification.federations)
    rows = tuple(_row_across(specification, metric, series, reproduction) for series in specification.series)
    return ReportTable(METRIC_NAMES[metric], ("series",), columns, rows)


def _row_across(specification: Specification, metric: str, series: Series, reproduction: Reproduction) -> TableRow:
    lookup, points = reproduction.measurements.lookup(specification), list(specification.points())
    entries = tuple(_entry(specification, lookup, point, series.label, metric) for point in points)
    planned = [
        specification.cell_at(point, series) for point in points if point.federation not in _missing(reproduction)
    ]
    return TableRow((series.label,), entries, tuple(commands_for(planned, reproduction, specification.name)))


def _metric_row(
    specification: Specification, metric: str, point: Point, labels: Sequence[str], reproduction: Reproduction
) -> TableRow:
    lookup = reproduction.measurements.lookup(specification)
    paper = printed(specification.paper, metric, point)
    entries = tuple(
        Entry(
            number(lookup(point, label, metric), metric, label.lower() in specification.computed),
            printed_number(paper.values.get(label), metric),
        )
        for label in labels
    )
    heads = (federation_name(point.federation, reproduction), point.case)[: 2 if len(specification.cases) > 1 else 1]
    planned = [specification.cell_at(point, series) for series in specification.series]
    known = point.federation not in _missing(reproduction)
    commands = commands_for(planned, reproduction, specification.name) if known else []
    return TableRow(heads, entries, tuple(commands), paper.remark)


def _figure_numbers(specification: Specification, reproduction: Reproduction) -> ReportTable:
    """Return a row for every line of every panel; the columns are the privacy budgets."""
    columns = tuple(f"ε = {epsilon:g}" for epsilon in specification.epsilons)
    rows = tuple(_figure_rows(specification, reproduction))
    heads = ("federation", "case", "k", "series") if len(specification.cases) > 1 else ("federation", "k", "series")
    return ReportTable(METRIC_NAMES[specification.metrics[0]], heads, columns, rows)


def _figure_rows(specification: Specification, reproduction: Reproduction) -> Iterator[TableRow]:
    lines = dict.fromkeys((point.federation, point.case, point.k) for point in specification.points())
    for federation, case, k in lines:
        for series in specification.series:
            points = [Point(federation, case, epsilon, k) for epsilon in specification.epsilons]
            yield _figure_row(specification, points, series.label, reproduction)


def _figure_row(
    specification: Specification, points: Sequence[Point], label: str, reproduction: Reproduction
) -> TableRow:
    lookup, metric, first = reproduction.measurements.lookup(specification), specification.metrics[0], points[0]
    entries = tuple(_entry(specification, lookup, point, label, metric) for point in points)
    case = (first.case,) if len(specification.cases) > 1 else ()
    heads = (federation_name(first.federation, reproduction), *case, str(first.k), label)
    series = specification.series_named(label)
    known = first.federation not in _missing(reproduction)
    planned = [specification.cell_at(point, series) for point in points] if known else []
    return TableRow(heads, entries, tuple(commands_for(planned, reproduction, specification.name)))


def _entry(specification: Specification, lookup: Lookup, point: Point, label: str, metric: str) -> Entry:
    paper = printed(specification.paper, metric, point)
    return Entry(number(lookup(point, label, metric), metric), printed_number(paper.values.get(label), metric))


def _missing(reproduction: Reproduction) -> set[str]:
    return {name for name, found in reproduction.provenances.items() if found.missing}


def federation_name(federation: str, reproduction: Reproduction) -> str:
    """Return a federation's name, marked where it is not the paper's."""
    found = reproduction.provenances[federation]
    if found.missing:
        return f"{federation} (missing)"
    return f"{federation} (substitute)" if found.substitute else federation


def grounds(verdict: ClaimVerdict) -> str:
    """Say in a few words on what a verdict rests."""
    if verdict.claim.unchecked:
        return verdict.claim.unchecked
    parts = []
    if any(each.counted for each in verdict.comparisons):
        parts.append(_sides(verdict, counted=True))
    if any(not each.counted for each in verdict.comparisons):
        parts.append(f"on the substitute: {_sides(verdict, counted=False)}")
    if verdict.missing:
        parts.append(f"without {', '.join(verdict.missing)}, which is missing")
    return "; ".join(parts) or "no data, or one run alone"


def _sides(verdict: ClaimVerdict, *, counted: bool) -> str:
    sides = verdict.sides(counted)
    mean, stderr = mean_difference([each for each in verdict.comparisons if each.counted == counted])
    counts = ", ".join(f"{sides[side]} {side}" for side in (FOR, OPEN, AGAINST))
    return f"{counts}; mean difference {difference(mean, stderr, verdict.claim.metric)}"


def difference(mean: float, stderr: float, metric: str) -> str:
    """Write a mean difference with its sign, unit and standard error."""
    scale, digits, unit = {"uplink_bits": (1000, 1, " kbit"), "seconds": (1, 3, " s")}.get(metric, (1, 3, ""))
    return f"{mean / scale:+,.{digits}f} ± {stderr / scale:,.{digits}f}{unit}"


def printed_agreement(reproduction: Reproduction, tolerance: float = 0.05) -> tuple[int, int]:
    """Return how many F1 and recall values that the paper prints we meet within a tolerance, and how many there are.

    Substitutes are left out, and so are rows with a known erratum.
    """
    near = total = 0
    for ours, theirs in _printed_pairs(reproduction):
        total += 1
        near += abs(ours - theirs) <= tolerance
    return near, total


def _printed_pairs(reproduction: Reproduction) -> Iterator[tuple[float, float]]:
    for specification in reproduction.specifications:
        lookup = reproduction.measurements.lookup(specification)
        for point in specification.points():
            if not reproduction.provenances[point.federation].substitute:
                yield from _pairs_at(specification, lookup, point)


def _pairs_at(specification: Specification, lookup: Lookup, point: Point) -> Iterator[tuple[float, float]]:
    for metric in set(specification.metrics) & {"f1", "local_recall"}:
        row = printed(specification.paper, metric, point)
        for label, value in row.values.items():
            ours = lookup(point, label, metric)
            if ours is not None and not isinstance(value, str) and not row.remark:
                yield ours.mean, value
