"""An answer as a bar chart."""

from typing import TYPE_CHECKING

import pyarrow as pa
from matplotlib import pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BAR, TRUE = "#0072B2", "#D55E00"
"""Blue and vermilion of Okabe and Ito, which everybody can distinguish."""


def draw(items: pa.Table, title: str, axes: "Axes | None" = None) -> "Axes":
    """Draw estimates with error bars of one standard error, and a mark at the true count where it is known."""
    rows, ranks = items.to_pydict(), range(len(items))
    if axes is None:
        _, axes = pyplot.subplots(figsize=(7, 1.2 + 0.35 * max(len(items), 3)), layout="constrained")
    axes.barh(ranks, rows["count"], xerr=rows["stderr"], color=BAR, capsize=3, label="estimate ± standard error")
    known = [rank for rank in ranks if rows["true_count"][rank] is not None]
    if known:
        true = [rows["true_count"][rank] for rank in known]
        axes.scatter(true, known, color=TRUE, marker="D", s=28, zorder=3, label="true count")
    axes.set_yticks(ranks, rows["item"])
    axes.invert_yaxis()
    axes.set_xlabel("users")
    axes.set_title(title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    return axes
