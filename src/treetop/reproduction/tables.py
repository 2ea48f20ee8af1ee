"""Tables of the report: our number beside the paper's, with the command that gives it again."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product, zip_longest
from shlex import join

from treetop.reproduction.result_files import changed_settings
from treetop.reproduction.run import Reproduction
from treetop.reproduction.specification import Planned, Point, Specification, Variant, printed
from treetop.reproduction.verdicts import Measured


def commands_for(planned: Sequence[Planned], reproduction: Reproduction, specification: str) -> list[str]:
    """Return the commands that run some cells again, one for all cells of the same data, oracle and settings."""
    settings = reproduction.settings
    repeats = ["--repeats", str(settings.repeats), "--seed", str(settings.seed)]
    if any(each.variant.share != 1 for each in planned):  # `evaluate` has no option for a share of the users
        words = ["treetop", "reproduce", specification, "--data", str(reproduction.data), "--output", "again"]
        return [join([*words, *repeats])]
    groups: dict[tuple[object, ...], list[Planned]] = {}
    for each in planned:
        changed = tuple(changed_settings(each.cell.parameters).items())
        groups.setdefault((each.variant, each.cell.parameters.oracle_name, changed), []).append(each)
    commands = []
    for group in groups.values():
        variant = group[0].variant
        parameters = group[0].cell.parameters
        found = reproduction.provenances[variant.federation]
        words = ["treetop", "evaluate", found.word(variant.draw, variant.concentration)]
        words += ["--mechanisms", _listed(each.cell.mechanism.name for each in group)]
        words += ["--epsilons", _listed(f"{each.cell.parameters.epsilon:g}" for each in group)]
        words += ["--ks", _listed(str(each.cell.parameters.k) for each in group)]
        words += ["--oracles", parameters.oracle_name, "--encoding", found.encoding]
        for name, value in changed_settings(parameters).items():
            words += ["--set", f"{name}={value}"]
        commands.append(join([*words, *repeats]))
    return commands


def _listed(values: Iterable[str]) -> str:
    return ",".join(dict.fromkeys(values))


METRIC_NAMES = {
    "f1": "F1 (1 is best)",
    "ncr": "NCR (1 is best)",
    "local_recall": "average local recall (1 is best)",
    "uplink_bits": "sent to the server by a party, kbit",
    "seconds": "time of one simulated run, seconds",
}
NOTHING = "–"


@dataclass(frozen=True)
class Entry:
    """One entry of a table: what we measured, and what the paper prints there."""

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
    """A table of the report, before it is written as HTML or Markdown."""

    title: str
    heads: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]


def tables_of(specification: Specification, reproduction: Reproduction) -> list[ReportTable]:
    """Return the tables of one specification; a figure's numbers are one table."""
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
    """Return a table with a row for every point and a column for every series."""
    computed = [name.upper() for name in specification.computed if metric == "uplink_bits"]
    labels = [*(series.label for series in specification.series), *computed]
    heads = ("federation", specification.case_heading) if len(specification.cases) > 1 else ("federation",)
    rows = []
    for point in specification.points():
        shown = (federation_name(point.federation, reproduction), point.case)[: len(heads)]
        entries = tuple(_entry(specification, point, label, metric, reproduction) for label in labels)
        planned = [specification.cell_at(point, series) for series in specification.series]
        remark = printed(specification.paper, metric, point).remark
        rows.append(TableRow(shown, entries, _commands(specification, planned, reproduction), remark))
    return ReportTable(METRIC_NAMES[metric], heads, tuple(labels), tuple(rows))


def _table_across(specification: Specification, metric: str, reproduction: Reproduction) -> ReportTable:
    """Return a table with a row for every series and a column for every federation."""
    columns = tuple(federation_name(name, reproduction) for name in specification.federations)
    points = list(specification.points())
    rows = []
    for series in specification.series:
        entries = tuple(_entry(specification, point, series.label, metric, reproduction) for point in points)
        planned = [specification.cell_at(point, series) for point in points]
        rows.append(TableRow((series.label,), entries, _commands(specification, planned, reproduction)))
    return ReportTable(METRIC_NAMES[metric], (specification.series_heading,), columns, tuple(rows))


def _figure_numbers(specification: Specification, reproduction: Reproduction) -> ReportTable:
    """Return a row for every line of every panel; the columns are the privacy budgets."""
    metric = specification.metrics[0]
    cases = len(specification.cases) > 1
    lines = dict.fromkeys((point.federation, point.case, point.k) for point in specification.points())
    rows = []
    for (federation, case, k), series in product(lines, specification.series):
        points = [Point(federation, case, epsilon, k) for epsilon in specification.epsilons]
        entries = tuple(_entry(specification, point, series.label, metric, reproduction) for point in points)
        shown = (federation_name(federation, reproduction), *([case] if cases else []), str(k), series.label)
        planned = [specification.cell_at(point, series) for point in points]
        rows.append(TableRow(shown, entries, _commands(specification, planned, reproduction)))
    heads = ("federation", *([specification.case_heading] if cases else []), "k", specification.series_heading)
    columns = tuple(f"ε = {epsilon:g}" for epsilon in specification.epsilons)
    return ReportTable(METRIC_NAMES[metric], heads, columns, tuple(rows))


def _entry(specification: Specification, point: Point, label: str, metric: str, reproduction: Reproduction) -> Entry:
    measured = reproduction.measurements.lookup(specification)(point, label, metric)
    paper = printed(specification.paper, metric, point)
    ours = number(measured, metric, computed=label.lower() in specification.computed)
    return Entry(ours, printed_number(paper.values.get(label), metric))


def _commands(specification: Specification, planned: Sequence[Planned], reproduction: Reproduction) -> tuple[str, ...]:
    """Return the commands that run a row again, for the federations that were found."""
    known = [each for each in planned if not reproduction.provenances[each.variant.federation].missing]
    return tuple(commands_for(known, reproduction, specification.name))


def federation_name(federation: str, reproduction: Reproduction) -> str:
    """Return a federation's name, marked where it is not the paper's."""
    found = reproduction.provenances[federation]
    if found.missing:
        return f"{federation} (missing)"
    return f"{federation} (substitute)" if found.substitute else federation


def federation_tables(specification: Specification, reproduction: Reproduction) -> list[ReportTable]:
    """Return one table of federations and one of their parties."""
    names = specification.federations
    whole = tuple(_federation_row(specification, name, reproduction) for name in names)
    parties = tuple(row for name in names for row in _party_rows(specification, name, reproduction))
    columns = ("users", "parties", "items", "items of all parties")
    return [
        ReportTable("Federations", ("federation", "file"), columns, whole),
        ReportTable("Parties", ("federation", "party", "in the paper"), ("users", "unique items"), parties),
    ]


def _federation_row(specification: Specification, name: str, reproduction: Reproduction) -> TableRow:
    found = reproduction.provenances[name]
    facts = reproduction.measurements.facts.get(Variant(name))
    paper = _printed(specification, "users", name)
    ours = (facts.users, facts.parties, facts.items, facts.common) if facts else (None,) * 4
    theirs = (paper.get("total"), paper.get("parties"), None, paper.get("common"))
    entries = tuple(Entry(_whole(mine), _whole(printed)) for mine, printed in zip(ours, theirs, strict=True))
    source = found.path.name if found.path else NOTHING if found.missing else "syn"
    return TableRow((federation_name(name, reproduction), source), entries, (), found.remark)


def _party_rows(specification: Specification, name: str, reproduction: Reproduction) -> Iterator[TableRow]:
    """Yield the parties side by side, largest first; where we have none, the paper's stand alone."""
    facts = reproduction.measurements.facts.get(Variant(name))
    ours = facts.by_party if facts else ()
    users = _printed(specification, "party_users", name)
    items = _printed(specification, "party_items", name)
    for party, mine in zip_longest(users, ours[: len(users)]):
        shown = (mine.name, _whole(mine.users), _whole(mine.items)) if mine else (NOTHING,) * 3
        entries = (Entry(shown[1], _whole(users[party])), Entry(shown[2], _whole(items[party])))
        yield TableRow((federation_name(name, reproduction), shown[0], party), entries)


def _printed(specification: Specification, metric: str, name: str) -> dict[str, float | str]:
    return printed(specification.paper, metric, Point(name, "", 0.0, 0)).values


def _whole(value: float | str | None) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:,.0f}"
