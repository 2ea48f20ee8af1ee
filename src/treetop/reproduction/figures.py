"""Figures in the paper's arrangement: mean lines with bands of two standard errors."""

from collections.abc import Sequence
from io import BytesIO
from itertools import product
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from treetop.reproduction.run import Reproduction
from treetop.reproduction.specification import Point, Specification
from treetop.reproduction.tables import METRIC_NAMES
from treetop.reproduction.verdicts import Measured

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""Okabe and Ito's palette, distinguishable by everybody."""
MARKERS = ("o", "s", "^", "D", "v", "P")
BAND = 2.0
STYLE: Any = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.5,
    "lines.linewidth": 1.2,
    "lines.markersize": 3.5,
    "svg.fonttype": "path",
    "svg.hashsalt": "treetop",
}
NAMED_IN_PANELS = {"federation": "{}", "k": "k = {}", "case": "{}"}


def draw(specification: Specification, reproduction: Reproduction) -> Figure:
    """Draw one figure of the paper from what we measured."""
    with matplotlib.rc_context(STYLE):
        rows, columns = (_values(specification, name) for name in _dimensions(specification))
        size = (1.1 + 1.55 * len(columns), 1.0 + 1.5 * len(rows))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(len(rows), len(columns), sharex=True, sharey=True, squeeze=False)
        for (i, row), (j, column) in product(enumerate(rows), enumerate(columns)):
            panel = dict(zip(_dimensions(specification), (row, column), strict=True))
            _draw_panel(axes[i, j], specification, reproduction, panel)
        _label(figure, axes, specification)
        return figure


def _dimensions(specification: Specification) -> tuple[str, str]:
    return specification.panel_rows, specification.panel_columns


def _values(specification: Specification, dimension: str) -> Sequence[Any]:
    if dimension == "federation":
        return specification.federations
    return specification.ks if dimension == "k" else [case.label for case in specification.cases]


def _lines(specification: Specification) -> list[tuple[str, int | None]]:
    """Return the lines of a panel: one per series, or per series and k where no panel fixes k."""
    one = "k" in _dimensions(specification) or len(specification.ks) == 1
    ks: Sequence[int | None] = [None] if one else specification.ks
    return [(series.label, k) for k, series in product(ks, specification.series)]


def _draw_panel(axes: Axes, specification: Specification, reproduction: Reproduction, panel: dict[str, Any]) -> None:
    lookup = reproduction.measurements.lookup(specification)
    for number, (label, k) in enumerate(_lines(specification)):
        chosen = panel.get("k") or k or specification.ks[0]
        points = [Point(panel["federation"], panel.get("case", ""), each, chosen) for each in specification.epsilons]
        found = [lookup(point, label, specification.metrics[0]) for point in points]
        _draw_line(axes, specification.epsilons, found, _look(specification, number))
    known = reproduction.provenances[panel["federation"]]
    shown = {**panel, "federation": panel["federation"] + ("*" if known.substitute else "")}
    names = [NAMED_IN_PANELS[name].format(value) for name, value in shown.items() if value != ""]
    if known.missing:
        axes.text(0.5, 0.5, "data missing", transform=axes.transAxes, ha="center", va="center", color="0.4")
    axes.set_title(", ".join(names), pad=3)


def _draw_line(axes: Axes, epsilons: Sequence[float], found: Sequence[Measured | None], look: dict[str, Any]) -> None:
    known = [(epsilon, measured) for epsilon, measured in zip(epsilons, found, strict=True) if measured is not None]
    if not known:
        return
    epsilons_known, means = [epsilon for epsilon, _ in known], [measured.mean for _, measured in known]
    low = [max(0.0, measured.mean - BAND * (measured.stderr or 0.0)) for _, measured in known]
    high = [min(1.0, measured.mean + BAND * (measured.stderr or 0.0)) for _, measured in known]
    axes.plot(epsilons_known, means, **look)
    axes.fill_between(epsilons_known, low, high, color=look["color"], alpha=0.2, linewidth=0)


def _look(specification: Specification, number: int) -> dict[str, Any]:
    """Return a line's look; where lines differ in series and k, the colour tells k and the dash the series."""
    label, k = _lines(specification)[number]
    if k is None:
        return {"color": COLOURS[number], "marker": MARKERS[number], "label": label}
    series, group = number % len(specification.series), number // len(specification.series)
    dashes = {"linestyle": "-" if series == 0 else "--", "markerfacecolor": None if series == 0 else "white"}
    look = {"color": COLOURS[group], "marker": MARKERS[group], "label": f"{label}, k = {k}"}
    return {**look, **{name: value for name, value in dashes.items() if value is not None}}


def _label(figure: Figure, axes: Any, specification: Specification) -> None:
    for panel in axes[-1]:
        panel.set_xlabel("privacy budget ε")
        panel.set_xticks(specification.epsilons)
    for panel in axes[:, 0]:
        panel.set_ylabel(METRIC_NAMES[specification.metrics[0]])
    axes[0, 0].set_ylim(-0.02, 1.02)
    handles, labels = max((panel.get_legend_handles_labels() for panel in axes.flat), key=lambda found: len(found[0]))
    if handles:
        figure.legend(handles, labels, loc="outside upper center", ncols=len(handles), frameon=False)


def rendered(figure: Figure, ending: str) -> bytes:
    """Return a figure as PNG or SVG bytes, the same bytes for the same figure."""
    buffer = BytesIO()
    with matplotlib.rc_context(STYLE):
        metadata = {"Date": None} if ending == "svg" else {"Software": None}
        figure.savefig(buffer, format=ending, dpi=150, metadata=metadata)
    return buffer.getvalue()
