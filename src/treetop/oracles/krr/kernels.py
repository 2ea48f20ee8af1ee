"""The compiled loop of k-RR."""

from typing import Any

import numpy as np

from treetop.oracles.compiling import compiled

TABLES = 4
"""Histograms side by side, so that equal reports in a row do not wait for each other's store."""
ONE = np.uint32(1)


@compiled
def add_slots(reports: Any, tables: Any) -> None:
    """Add one for every report to its slot in one of the four tables; slots must be in range."""
    whole = len(reports) // TABLES * TABLES
    for i in range(0, whole, TABLES):
        tables[0, reports[i]] += ONE
        tables[1, reports[i + 1]] += ONE
        tables[2, reports[i + 2]] += ONE
        tables[3, reports[i + 3]] += ONE
    for i in range(whole, len(reports)):
        tables[0, reports[i]] += ONE
