"""Writes the report: one page that works offline, its plots, its numbers, and a Markdown summary."""

import platform
from base64 import b64encode
from collections import Counter
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from treetop.errors import InvalidInput
from treetop.reproduction.cell_journal import write_whole
from treetop.reproduction.report_html import page
from treetop.reproduction.report_markdown import summary_text
from treetop.reproduction.report_parts import ReportHead, Section
from treetop.reproduction.result_files import write_results
from treetop.reproduction.run import Reproduction
from treetop.reproduction.specification import Specification
from treetop.reproduction.tables import federation_tables, tables_of

FIGURES = "figures"


def require_plots() -> None:
    """Refuse, before anything is run, to go on without the plotting library."""
    if find_spec("matplotlib") is None:
        raise InvalidInput("the plots need matplotlib, which is not installed: pip install 'treetop[plot]'")


def write_report(reproduction: Reproduction, folder: Path, command: str) -> None:
    """Write everything into the output folder."""
    write_results(reproduction, folder)
    (folder / FIGURES).mkdir(exist_ok=True)
    sections = [_section(specification, reproduction, folder) for specification in reproduction.specifications]
    head = ReportHead(command, versions(), _counts(reproduction))
    write_whole(folder / "report.html", page(reproduction, sections, head).encode())
    write_whole(folder / "report.md", summary_text(reproduction, sections, head).encode())


def _section(specification: Specification, reproduction: Reproduction, folder: Path) -> Section:
    picture = _picture(specification, reproduction, folder) if specification.kind == "figure" else ""
    tables = federation_tables if specification.kind == "federations" else tables_of
    return Section(specification, tuple(tables(specification, reproduction)), picture)


def _picture(specification: Specification, reproduction: Reproduction, folder: Path) -> str:
    """Draw a figure into files, and return it as an address that holds the whole picture."""
    from treetop.reproduction.figures import draw, rendered  # noqa: PLC0415  matplotlib is an extra

    figure = draw(specification, reproduction)
    for ending in ("png", "svg"):
        write_whole(folder / FIGURES / f"{specification.name}.{ending}", rendered(figure, ending))
    return f"data:image/svg+xml;base64,{b64encode(rendered(figure, 'svg')).decode()}"


def _counts(reproduction: Reproduction) -> dict[str, int]:
    return dict(Counter(verdict.verdict for verdict in reproduction.verdicts))


def versions() -> dict[str, str]:
    """Return the versions that numbers and plots depend on."""
    packages = {name: metadata.version(name) for name in ("treetop", "numpy", "pyarrow", "matplotlib")}
    return {**packages, "python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
