"""`make bench`: measure everything, print the table and write docs/benchmarks.md.

`make bench NAME=counting` measures one room and leaves the other sections as they are.
"""

import platform
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np

from benchmarks import (
    clients,
    counting,
    device_perturbation,
    evaluation,
    federation,
    heavy_hitters,
    page_load,
    party_intake,
    reading,
    report_files,
    report_weight,
    reproduction,
    scale,
    several_intakes,
    simulation,
    store,
    tls_intake,
)
from benchmarks.measuring import Failed, Row

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
SCIENCE = (
    counting,
    report_files,
    clients,
    device_perturbation,
    heavy_hitters,
    simulation,
    evaluation,
    reproduction,
    reading,
)
FEDERATION = (store, party_intake, tls_intake, several_intakes, report_weight, federation, scale, page_load)
MODULES: dict[str, ModuleType] = {module.__name__.rpartition(".")[2]: module for module in (*SCIENCE, *FEDERATION)}
INTRODUCTION = """# Benchmarks

Written by `make bench`, in a separate environment (`requirements/bench.txt`). Every line is a ratio of two times from
the same run, each the best of several tries: machines are noisy, ratios less so. Times are CPU times of one process
unless the line says wall. "Times as fast" lines divide the other's time by ours. Peers are called through their public
functions; where a peer would take hours, it does part of the work and its time is scaled up.
"""
HEAD = ["| what | ratio | must be | is | ours / the other |", "|---|---|---|---|---|"]


def line(row: Row) -> str:
    if isinstance(row, Failed):
        return f"| {row.what} | could not run | | | {row.error} |"
    upper = "" if row.limit is None else f"≤ {row.limit:g}"
    lower = "" if row.at_least is None else f"≥ {row.at_least:g}"
    verdict = "" if not upper + lower else "yes" if row.passed else "**no**"
    times = f"{shown(row.seconds)} / {shown(row.reference_seconds)}" if row.seconds else ""
    return f"| {row.what} | {row.ratio:,.2f} | {upper}{lower} | {verdict} | {times} |"


def shown(seconds: float) -> str:
    if seconds < 0.01:
        return f"{seconds * 1000:.2f} ms"
    return f"{seconds * 1000:,.0f} ms" if seconds < 1000 else f"{seconds / 3600:,.1f} h"


def section(module: ModuleType, rows: list[Row]) -> str:
    limits = getattr(module, "LIMITS", "").strip()
    if "conditions" in vars(module):
        limits += f"\n\n{module.conditions()}"
    return "\n".join([f"## {module.TITLE}", "", *HEAD, *map(line, rows), *(["", limits] if limits else [])])


def page(sections: dict[str, str]) -> str:
    """Return the page with these sections, and the others as it has them."""
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}."
    kept = {text.split("\n")[0]: text.strip() for text in re.split(r"(?m)^(?=## )", PAGE.read_text())}
    known = [sections.get(name) or kept.get(f"## {module.TITLE}") for name, module in MODULES.items()]
    return "\n\n".join([INTRODUCTION.strip(), versions, *filter(None, known)]) + "\n"


def main(names: list[str]) -> None:
    if unknown := {*names} - {*MODULES}:
        sys.exit(f"NAME: expected one of {', '.join(MODULES)}, got {', '.join(unknown)}")
    passed = True
    sections = {}
    for name in names or MODULES:
        rows = list(MODULES[name].measure())
        sections[name] = section(MODULES[name], rows)
        print(sections[name], end="\n\n", flush=True)
        passed = passed and all(row.passed for row in rows)
    PAGE.write_text(page(sections))
    sys.exit(0 if passed else 1)


if __name__ == "__main__":
    main(sys.argv[1:])
