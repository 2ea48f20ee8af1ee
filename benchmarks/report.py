"""`make bench`: measure everything, print the table and write docs/benchmarks.md."""

import platform
import sys
from pathlib import Path

import numpy as np

from benchmarks import evaluation, simulation
from benchmarks.measuring import Measured

PAGE = Path(__file__).parents[1] / "docs" / "benchmarks.md"
INTRODUCTION = """# Benchmarks

Written by `make bench`. Every line is a ratio of two CPU times in one run (the last one of wall time on two cores),
the best of several tries, because machines are noisy and ratios less so. Loading, encoding and the truth are not
counted.
"""


def line(row: Measured) -> str:
    limit = "" if row.limit is None else f"≤ {row.limit:g}"
    verdict = "" if row.limit is None else "yes" if row.passed else "**no**"
    times = f"{row.seconds * 1000:,.0f} ms / {row.reference_seconds * 1000:,.0f} ms"
    return f"| {row.what} | {row.ratio:.2f} | {limit} | {verdict} | {times} |"


def page(rows: list[Measured]) -> str:
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}."
    table = ["| what | ratio | must be | is | times |", "|---|---|---|---|---|", *map(line, rows)]
    return "\n".join([INTRODUCTION, versions, "", *table, ""])


def main() -> None:
    rows = [row for module in (simulation, evaluation) for row in module.measure()]
    text = page(rows)
    print(text)
    PAGE.write_text(text)
    sys.exit(0 if all(row.passed for row in rows) else 1)


if __name__ == "__main__":
    main()
