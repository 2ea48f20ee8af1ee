"""The report as Markdown, to be read or pasted elsewhere."""

from collections.abc import Iterator, Sequence

from treetop.reproduction.report_parts import ReportHead, Section, agreement_line, caution, grounds, result_line
from treetop.reproduction.run import Reproduction
from treetop.reproduction.tables import Entry, ReportTable
from treetop.reproduction.verdicts import RULE


def summary_text(reproduction: Reproduction, sections: Sequence[Section], head: ReportHead) -> str:
    """Return verdicts and tables; the numbers of figures are left to the page."""
    settings = reproduction.settings
    lines = [f"{result_line(head)} {agreement_line(reproduction)} {caution(reproduction)}".strip(), ""]
    lines += [f"Seed {settings.seed}, {settings.repeats} repetitions, means ± one standard error.", "", RULE, ""]
    lines += _verdicts(reproduction)
    for section in sections:
        lines += _section(section)
    return "\n".join(lines) + "\n"


def _verdicts(reproduction: Reproduction) -> Iterator[str]:
    yield "| claim | where | verdict | comparisons |"
    yield "| --- | --- | --- | --- |"
    for verdict in reproduction.verdicts:
        where = f"{verdict.specification}, line {verdict.claim.line}"
        yield f"| {verdict.claim.text} | {where} | **{verdict.verdict}** | {grounds(verdict)} |"


def _section(section: Section) -> Iterator[str]:
    specification = section.specification
    yield from ("", f"## {specification.title}", "", f"{specification.source}. {specification.note}".strip(), "")
    if section.picture:
        yield f"![{specification.title}](figures/{specification.name}.png)"
        return
    for table in section.tables:
        yield from _table(table)


def _table(table: ReportTable) -> Iterator[str]:
    yield f"**{table.title}**, ours (the paper's)"
    yield ""
    yield f"| {' | '.join((*table.heads, *table.columns))} |"
    yield "|" + " --- |" * (len(table.heads) + len(table.columns))
    for row in table.rows:
        yield f"| {' | '.join((*row.heads, *map(_entry, row.entries)))} |"
    yield ""


def _entry(entry: Entry) -> str:
    return f"{entry.ours} ({entry.paper})" if entry.paper else entry.ours
