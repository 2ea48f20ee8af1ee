"""Write the report: one page that works offline, its plots, its numbers, and a Markdown summary."""

import platform
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module, metadata
from itertools import chain
from math import sqrt
from pathlib import Path

from treetop.extras import DISTRIBUTION, needed_for
from treetop.public_text import visible
from treetop.reproduction.panels import MARK_PATHS, Panel, looks_of, panels_of
from treetop.reproduction.result_files import write_results
from treetop.reproduction.run import Reproduction
from treetop.reproduction.specification import Specification, printed
from treetop.reproduction.tables import METRIC_NAMES, ReportTable, federation_tables, tables_of
from treetop.reproduction.verdicts import (
    AGAINST,
    FAILS,
    FOR,
    HOLDS,
    MEANINGS,
    OPEN,
    RULE,
    SIDE_MEANINGS,
    UNCHECKED,
    ClaimVerdict,
    mean_difference,
)
from treetop.whole_files import write_whole

FIGURES = "figures"
FEW_REPEATS = 5
"""Up to this number of repetitions a standard error is itself uncertain."""
OWN = "beyond"
"""The figure that puts our own mechanisms beside the paper's."""


@dataclass(frozen=True)
class ReportHead:
    """The command and versions that made the report, and its verdicts in numbers."""

    command: str
    versions: Mapping[str, str]
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Section:
    """One table or figure of the paper, ready to be written."""

    specification: Specification
    tables: tuple[ReportTable, ...]
    panels: tuple[Panel, ...]
    """Those of a figure, row by row."""


def result_line(head: ReportHead) -> str:
    """Return the number of claims that hold, in one sentence."""
    total = sum(head.counts.values())
    parts = [
        f"{head.counts.get(name, 0)} {'hold' if name == HOLDS else 'do not hold' if name == FAILS else name}"
        for name in (HOLDS, FAILS, UNCHECKED)
    ]
    return f"Of {total} claims of the paper {parts[0]}, {parts[1]} and {parts[2]}."


def agreement_line(reproduction: Reproduction) -> str:
    """Return how many printed numbers are met, in one sentence."""
    near, total = printed_agreement(reproduction)
    return (
        f"{near} of the {total} F1 and recall values that the paper prints are met within 0.05; substitutes and rows "
        "with a known erratum are not counted."
    )


def own_line(reproduction: Reproduction) -> str:
    """Return the mean F1 of our own mechanisms beside the paper's, over the same cells, if they were run."""
    beyond = next((each for each in reproduction.specifications if each.name == OWN), None)
    if beyond is None:
        return ""
    lookup = reproduction.measurements.lookup(beyond)
    provenances = reproduction.provenances
    known = [point for point in beyond.points() if not provenances[point.federation].substitute]
    measured = [[lookup(point, series.label, "f1") for series in beyond.series] for point in known]
    whole = [[each for each in row if each is not None] for row in measured if None not in row]
    if not whole:
        return ""
    means = []
    for series, column in zip(beyond.series, zip(*whole, strict=True), strict=True):
        mean = sum(each.mean for each in column) / len(column)
        stderr = sqrt(sum((each.stderr or 0.0) ** 2 for each in column)) / len(column)
        means.append(f"{series.label} {mean:.3f} ± {stderr:.3f}")
    epsilons = ", ".join(f"{each:g}" for each in beyond.epsilons)
    return f"Mean F1 over the federations at ε = {epsilons} and k = 10, without substitutes: {', '.join(means)}."


def caution(reproduction: Reproduction) -> str:
    """Return a warning where the repetitions are few."""
    if reproduction.settings.repeats > FEW_REPEATS:
        return ""
    return (
        f"Only {reproduction.settings.repeats} repetitions: standard errors are themselves uncertain, and the verdicts "
        "are provisional."
    )


def grounds(verdict: ClaimVerdict) -> str:
    """Return the grounds of a verdict in a few words."""
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
    """Return how many F1 and recall values of the paper we meet within a tolerance, and how many it prints.

    Substitutes are left out, and so are rows with a known erratum.
    """
    near = total = 0
    for specification in reproduction.specifications:
        lookup = reproduction.measurements.lookup(specification)
        metrics = {*specification.metrics}
        for point in specification.points():
            if reproduction.provenances[point.federation].substitute:
                continue
            for metric in metrics & {"f1", "local_recall"}:
                row = printed(specification.paper, metric, point)
                for label, value in row.values.items():
                    ours = lookup(point, label, metric)
                    if ours is not None and not isinstance(value, str) and not row.remark:
                        total += 1
                        near += abs(ours.mean - value) <= tolerance
    return near, total


def summary_text(reproduction: Reproduction, sections: Sequence[Section], head: ReportHead) -> str:
    """Return verdicts, figures and tables."""
    settings = reproduction.settings
    said = (result_line(head), agreement_line(reproduction), own_line(reproduction), caution(reproduction))
    lines = [" ".join(filter(None, said)), ""]
    lines += [f"Seed {settings.seed}, {settings.repeats} repetitions, means ± one standard error.", "", RULE, ""]
    lines += ["| claim | where | verdict | comparisons |", "| --- | --- | --- | --- |"]
    for verdict in reproduction.verdicts:
        where = f"{verdict.specification}, line {verdict.claim.line}"
        lines.append(_row(verdict.claim.text, where, f"**{verdict.verdict}**", grounds(verdict)))
    for section in sections:
        lines += _section_text(section)
    return "\n".join(lines) + "\n"


def _section_text(section: Section) -> Iterator[str]:
    specification = section.specification
    yield from ("", f"## {specification.title}", "", f"{specification.source}. {specification.note}".strip(), "")
    if section.panels:
        yield from (f"![{specification.title}](figures/{specification.name}.png)", "")
    for table in section.tables:
        yield from _table(table)


def _table(table: ReportTable) -> Iterator[str]:
    yield f"**{table.title}**, ours (the paper's)"
    yield ""
    yield _row(*table.heads, *table.columns)
    yield "|" + " --- |" * (len(table.heads) + len(table.columns))
    for row in table.rows:
        cells = (f"{entry.ours} ({entry.paper})" if entry.paper else entry.ours for entry in row.entries)
        yield _row(*row.heads, *cells)
    yield ""


def _row(*cells: str) -> str:
    """Return a row of a Markdown table; nothing in a cell ends it, or is taken for HTML."""
    return f"| {' | '.join(visible(cell).replace('|', '&#124;').replace('<', '&lt;') for cell in cells)} |"


def require_plots() -> None:
    """Refuse to start without the libraries that draw plots and page: a run takes hours before they are used."""
    with needed_for("the report", "plot"):
        for library in ("matplotlib", "jinja2"):
            import_module(library)


def write_report(reproduction: Reproduction, folder: Path, command: str) -> None:
    """Write everything into the output folder."""
    write_results(reproduction, folder)
    (folder / FIGURES).mkdir(exist_ok=True)
    sections = []
    for specification in reproduction.specifications:
        panels = panels_of(specification, reproduction) if specification.kind == "figure" else []
        tables = federation_tables if specification.kind == "federations" else tables_of
        sections.append(Section(specification, tuple(tables(specification, reproduction)), tuple(chain(*panels))))
        if panels:
            _draw_files(specification, reproduction, folder / FIGURES)
    head = ReportHead(command, versions(), Counter(verdict.verdict for verdict in reproduction.verdicts))
    write_whole(folder / "report.html", _page(reproduction, sections, head).encode())
    write_whole(folder / "report.md", summary_text(reproduction, sections, head).encode())


def _page(reproduction: Reproduction, sections: Sequence[Section], head: ReportHead) -> str:
    """Return the report as one page: no scripts, no files beside it, no address outside it."""
    from jinja2 import Environment, PackageLoader  # noqa: PLC0415  an extra, like the plots

    pages = Environment(
        loader=PackageLoader("treetop", "reproduction"),
        autoescape=True,
        trim_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    return pages.get_template("report.html.jinja").render(
        result=result_line(head),
        agreement=agreement_line(reproduction),
        own=own_line(reproduction),
        caution=caution(reproduction),
        meanings=MEANINGS,
        sides=SIDE_MEANINGS,
        looks=looks_of,
        metrics=METRIC_NAMES,
        settings=reproduction.settings,
        versions=head.versions,
        command=head.command,
        rule=RULE,
        verdicts=reproduction.verdicts,
        styles={HOLDS: "holds", FAILS: "fails"},
        grounds=grounds,
        provenances=reproduction.provenances,
        sections=sections,
        marks=MARK_PATHS,
        titles={each.name: each.title for each in reproduction.specifications},
    )


def _draw_files(specification: Specification, reproduction: Reproduction, folder: Path) -> None:
    """Draw a figure into files, for those who want it elsewhere; the page draws its own."""
    from treetop.reproduction.figures import draw, rendered  # noqa: PLC0415  matplotlib is an extra

    figure = draw(specification, reproduction)
    for ending in ("png", "svg"):
        write_whole(folder / f"{specification.name}.{ending}", rendered(figure, ending))


def versions() -> dict[str, str]:
    """Return the versions that numbers and plots depend on."""
    packages = {name: metadata.version(name) for name in (DISTRIBUTION, "numpy", "pyarrow", "matplotlib")}
    return {**packages, "python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
