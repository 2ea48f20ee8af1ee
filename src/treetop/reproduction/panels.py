"""What a figure shows: its panels, their lines and the look of each, for matplotlib and for the page."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from treetop.reproduction.run import Reproduction
from treetop.reproduction.specification import Point, Specification
from treetop.reproduction.verdicts import Measured

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's palette, which colour-blind readers can tell apart."""
MARKERS = ("o", "s", "^", "D", "v", "P")
MARK_PATHS = {
    "o": "M-2.7 0a2.7 2.7 0 1 0 5.4 0a2.7 2.7 0 1 0 -5.4 0",
    "s": "M-2.5 -2.5h5v5h-5z",
    "^": "M0 -3.2L3 2.4H-3z",
    "D": "M0 -3.4L3.4 0L0 3.4L-3.4 0z",
    "v": "M0 3.2L3 -2.4H-3z",
    "P": "M-1 -3h2v2h2v2h-2v2h-2v-2h-2v-2h2z",
}
"""The markers as outlines around the origin."""
BAND = 2.0
"""Standard errors on either side of a line."""
NAMED_IN_PANELS = {"federation": "{}", "k": "k = {}", "case": "{}"}


@dataclass(frozen=True)
class Look:
    """How a line is drawn, and what the legend calls it."""

    label: str
    colour: str
    marker: str
    dashed: bool = False


@dataclass(frozen=True)
class PlottedMean:
    """A mean at one privacy budget, with the ends of its band."""

    epsilon: float
    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, epsilon: float, measured: Measured) -> "PlottedMean":
        """Return where a measurement is drawn; no score leaves 0 to 1."""
        reach = BAND * (measured.stderr or 0.0)
        return cls(epsilon, measured.mean, max(0.0, measured.mean - reach), min(1.0, measured.mean + reach))


@dataclass(frozen=True)
class Line:
    """One series; empty where nothing was measured."""

    look: Look
    means: tuple[PlottedMean, ...]


@dataclass(frozen=True)
class Panel:
    """One small plot of a figure."""

    title: str
    lines: tuple[Line, ...]
    missing: bool
    """Whether the data of its federation were not found."""


def panels_of(specification: Specification, reproduction: Reproduction) -> list[list[Panel]]:
    """Return the panels of a figure, row by row, in the paper's arrangement."""
    names = (specification.panel_rows, specification.panel_columns)
    rows, columns = (_values(specification, name) for name in names)
    return [
        [_panel(specification, reproduction, dict(zip(names, (row, column), strict=True))) for column in columns]
        for row in rows
    ]


def looks_of(specification: Specification) -> list[Look]:
    """Return a look for each series, or each series and k where no panel fixes k: then the colour tells k."""
    if _one_k(specification):
        return [Look(each.label, COLOURS[i], MARKERS[i]) for i, each in enumerate(specification.series)]
    return [
        Look(f"{each.label}, k = {k}", COLOURS[i], MARKERS[i], dashed=j > 0)
        for (i, k), (j, each) in product(enumerate(specification.ks), enumerate(specification.series))
    ]


def _one_k(specification: Specification) -> bool:
    return "k" in (specification.panel_rows, specification.panel_columns) or len(specification.ks) == 1


def _values(specification: Specification, dimension: str) -> Sequence[Any]:
    if dimension == "federation":
        return specification.federations
    return specification.ks if dimension == "k" else [case.label for case in specification.cases]


def _panel(specification: Specification, reproduction: Reproduction, fixed: dict[str, Any]) -> Panel:
    ks = [fixed.get("k", specification.ks[0])] if _one_k(specification) else specification.ks
    lookup = reproduction.measurements.lookup(specification)
    lines = []
    for look, (k, series) in zip(looks_of(specification), product(ks, specification.series), strict=True):
        points = [Point(fixed["federation"], fixed.get("case", ""), each, k) for each in specification.epsilons]
        found = [(point, lookup(point, series.label, specification.metrics[0])) for point in points]
        means = [PlottedMean.of(point.epsilon, measured) for point, measured in found if measured is not None]
        lines.append(Line(look, tuple(means)))
    known = reproduction.provenances[fixed["federation"]]
    shown = {**fixed, "federation": fixed["federation"] + (" (substitute)" if known.substitute else "")}
    title = ", ".join(NAMED_IN_PANELS[name].format(value) for name, value in shown.items() if value != "")
    return Panel(title, tuple(lines), known.missing)
