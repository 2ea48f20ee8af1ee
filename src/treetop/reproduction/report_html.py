"""The report as one page: no scripts, no files beside it, no address outside it."""

from collections.abc import Sequence
from html import escape

from treetop.reproduction.report_parts import ReportHead, Section, agreement_line, caution, grounds, result_line
from treetop.reproduction.run import Reproduction
from treetop.reproduction.tables import Entry, ReportTable, TableRow
from treetop.reproduction.verdicts import FAILS, HOLDS, RULE, ClaimVerdict

CSS = """
:root { color-scheme: light dark; --line: #8884; --soft: #8882; --blue: #0072B2; --red: #D55E00; --grey: #777; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 68rem; margin: 2rem auto; padding: 0 1rem; }
h1 { line-height: 1.2 } h2 { margin-top: 3rem; border-top: 1px solid var(--line); padding-top: 1rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; margin: .5rem 0; font-size: .88em }
th, td { padding: .25rem .6rem; border-bottom: 1px solid var(--soft); text-align: left; vertical-align: top }
td.n { text-align: right; white-space: nowrap } td.n small { display: block; color: var(--grey) }
.wide { overflow-x: auto } figure { margin: 1rem 0 } figure img { max-width: 100%; background: white }
.verdict { white-space: nowrap; font-weight: 600 }
.holds { color: var(--blue) } .fails { color: var(--red) } .unchecked { color: var(--grey) }
pre, code { font-size: .85em; white-space: pre-wrap; overflow-wrap: anywhere } pre { margin: 0 }
.note, .remark { color: var(--grey) } details { margin: .3rem 0 } summary { cursor: pointer }
"""


def page(reproduction: Reproduction, sections: Sequence[Section], head: ReportHead) -> str:
    """Return the whole page."""
    parts = [_opening(reproduction, head), _verdicts(reproduction), _data(reproduction)]
    parts += [_section(section, reproduction) for section in sections]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>The paper, reproduced</title><style>{CSS}</style></head>\n<body>\n"
        + "\n".join(parts)
        + "\n</body></html>\n"
    )


def _opening(reproduction: Reproduction, head: ReportHead) -> str:
    settings = reproduction.settings
    versions = ", ".join(f"{name} {version}" for name, version in head.versions.items())
    warning = f"<p><strong>{escape(caution(reproduction))}</strong></p>" if caution(reproduction) else ""
    return (
        "<h1>Federated heavy hitters under local differential privacy: the paper, reproduced</h1>"
        f"<p><strong>{escape(result_line(head))}</strong> {escape(agreement_line(reproduction))}</p>{warning}"
        f"<p>Seed {settings.seed}, {settings.repeats} repetitions of every cell, means ± one standard error. "
        "Where the paper prints a number it stands below ours in grey. The command beside a row gives its numbers "
        f"again.</p><p class=note>{escape(versions)}</p><pre>{escape(head.command)}</pre>"
    )


def _verdicts(reproduction: Reproduction) -> str:
    rows = "".join(_verdict_row(verdict) for verdict in reproduction.verdicts)
    return (
        f"<h2>What the paper claims</h2><p>{escape(RULE)}</p>"
        "<table><tr><th>claim<th>where<th>verdict<th>comparisons</tr>" + rows + "</table>"
    )


def _verdict_row(verdict: ClaimVerdict) -> str:
    style = {HOLDS: "holds", FAILS: "fails"}.get(verdict.verdict, "unchecked")
    remark = f"<br><span class=remark>{escape(verdict.claim.remark)}</span>" if verdict.claim.remark else ""
    link = f'<a href="#{verdict.specification}">{verdict.specification}</a>, line {verdict.claim.line}'
    return (
        f"<tr><td>{escape(verdict.claim.text)}{remark}<td>{link}"
        f'<td class="verdict {style}">{verdict.verdict}<td>{escape(grounds(verdict))}</tr>'
    )


def _data(reproduction: Reproduction) -> str:
    rows = "".join(
        f"<tr><td>{name}<td>{escape(found.path.name if found.path else 'missing' if found.missing else 'drawn')}"
        f"<td><code>{found.sha256[:16]}</code><td>{found.encoding}<td>{escape(found.remark)}</tr>"
        for name, found in reproduction.provenances.items()
    )
    return (
        "<h2>Data</h2><table><tr><th>federation<th>file<th>SHA-256 begins<th>encoding<th>remark</tr>"
        + rows
        + "</table>"
        "<p class=note>Files hold one row per party and item with the number of users. What the histograms were made "
        "of is described beside them by whoever made them; a histogram of a part of a corpus is not marked here.</p>"
    )


def _section(section: Section, reproduction: Reproduction) -> str:
    specification = section.specification
    claims = [verdict for verdict in reproduction.verdicts if verdict.specification == specification.name]
    verdicts = "".join(f"<li>{escape(each.claim.text)} <strong>{each.verdict}</strong></li>" for each in claims)
    picture = (
        f'<figure><img alt="{escape(specification.title)}" src="{section.picture}"></figure>' if section.picture else ""
    )
    tables = "".join(_table(table, folded=bool(section.picture)) for table in section.tables)
    caption = "<p class=note>Bands: two standard errors. * marks a substitute.</p>" if section.picture else ""
    return (
        f'<h2 id="{specification.name}">{escape(specification.title)}</h2>'
        f"<p class=note>{escape(specification.source)}. {escape(specification.note)}</p>"
        f"<ul>{verdicts}</ul>{picture}{caption}{tables}"
    )


def _table(table: ReportTable, folded: bool) -> str:
    heads = "".join(f"<th>{escape(name)}" for name in (*table.heads, *table.columns))
    rows = "".join(_row(row) for row in table.rows)
    drawn = f"<div class=wide><table><tr>{heads}<th>command</tr>{rows}</table></div>"
    if folded:
        return f"<details><summary>Numbers: {escape(table.title)}</summary>{drawn}</details>"
    return f"<h3>{escape(table.title)}</h3>{drawn}"


def _row(row: TableRow) -> str:
    heads = "".join(f"<td>{escape(head)}" for head in row.heads)
    entries = "".join(_entry(entry) for entry in row.entries)
    commands = escape("\n".join(row.commands))
    folded = f"<details><summary>show</summary><pre>{commands}</pre></details>" if commands else ""
    remark = f"<div class=remark>{escape(row.remark)}</div>" if row.remark else ""
    return f"<tr>{heads}{entries}<td>{folded}{remark}</tr>\n"


def _entry(entry: Entry) -> str:
    paper = f"<small>{escape(entry.paper)}</small>" if entry.paper else ""
    return f"<td class=n>{escape(entry.ours)}{paper}"
