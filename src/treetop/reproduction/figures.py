"""Figures as files, in the paper's arrangement: mean lines with bands of two standard errors."""

from io import BytesIO
from itertools import chain
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from treetop.reproduction.panels import Panel, panels_of
from treetop.reproduction.run import Reproduction
from treetop.reproduction.specification import Specification
from treetop.reproduction.tables import METRIC_NAMES

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


def draw(specification: Specification, reproduction: Reproduction) -> Figure:
    """Draw one figure of the paper from what we measured."""
    panels = panels_of(specification, reproduction)
    with matplotlib.rc_context(STYLE):
        size = (1.1 + 1.55 * len(panels[0]), 1.0 + 1.5 * len(panels))
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.subplots(len(panels), len(panels[0]), sharex=True, sharey=True, squeeze=False)
        for panel, plot in zip(chain(*panels), axes.flat, strict=True):
            _draw_panel(plot, panel)
        _label(figure, axes, specification)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # laid out once, so that PNG and SVG agree
        return figure


def _draw_panel(axes: Axes, panel: Panel) -> None:
    for line in (line for line in panel.lines if line.means):
        look = line.look
        epsilons = [each.epsilon for each in line.means]
        low = [each.low for each in line.means]
        high = [each.high for each in line.means]
        axes.plot(
            epsilons,
            [each.mean for each in line.means],
            color=look.colour,
            marker=look.marker,
            label=look.label,
            linestyle="--" if look.dashed else "-",
            markerfacecolor="white" if look.dashed else look.colour,
        )
        axes.fill_between(epsilons, low, high, color=look.colour, alpha=0.2, linewidth=0)
    if panel.missing:
        axes.text(0.5, 0.5, "data missing", transform=axes.transAxes, ha="center", va="center", color="0.4")
    axes.set_title(panel.title, pad=3)


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
