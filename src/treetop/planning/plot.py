"""The plot of a plan: which frequency could be found among how many users."""

from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

from treetop.planning.modes import modes_of
from treetop.planning.plan import Plan, detectable
from treetop.privacy.epsilon import Epsilon

EPSILONS = {0.5: ("#D55E00", ":"), 1.0: ("#E69F00", "-."), 2.0: ("#0072B2", "-"), 4.0: ("#009E73", "--")}
"""Okabe and Ito's colours, distinguishable by everybody, each with a line of its own."""
SHOWN = {0: "Catalogue", 1: "Word list", 3: "Texts", 4: "Canopy"}
FEWEST = 1e3
MOST = 1e8
POINTS = 26


def draw_plan(planned: Plan) -> Figure:
    """Draw one panel for each mode and one line for each epsilon; a mark stands for the plan itself."""
    figure = Figure(figsize=(9, 7), layout="constrained")
    panels = figure.subplots(2, 2, sharex=True, sharey=True)
    for axes, (index, title) in zip(panels.flat, SHOWN.items(), strict=True):
        _draw_mode(axes, planned, index, title)
    for axes in panels[1]:
        axes.set_xlabel("users of all parties together")
    for axes in panels[:, 0]:
        axes.set_ylabel("smallest share of users found")
    panels[0, 0].legend(frameon=False, fontsize=9, loc="lower left")
    parties = "1 party" if len(planned.users) == 1 else f"{len(planned.users)} parties"
    figure.suptitle(f"What is found in 9 of 10 runs ({parties}, k = {planned.parameters.k})", fontsize=12)
    return figure


def _draw_mode(axes: Axes, planned: Plan, index: int, title: str) -> None:
    shares = np.array(planned.users) / planned.all_users
    numbers = np.geomspace(FEWEST, MOST, POINTS)
    for epsilon, (colour, line) in EPSILONS.items():
        mode = modes_of(replace(planned.parameters, epsilon=Epsilon(epsilon)), planned.lists)[index]
        found = [detectable(mode, (shares * number).tolist()) for number in numbers]
        axes.loglog(numbers, found, color=colour, linestyle=line, linewidth=1.8, label=f"ε = {epsilon:g}")
    found_here = planned.rows[index].found
    if found_here is not None:
        label = f"this plan, ε = {planned.parameters.epsilon:g}"
        axes.scatter([planned.all_users], [found_here], color="black", marker="D", s=36, zorder=3, label=label)
    _dress(axes, f"{title}: {planned.rows[index].what}")


def _dress(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", fontsize=10)
    axes.set_ylim(3e-5, 1)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g} %"))
    axes.grid(True, which="major", color="#DDDDDD", linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
