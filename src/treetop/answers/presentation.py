"""An answer for a person: as HTML in a notebook, as a table of items, as a plot."""

from typing import TYPE_CHECKING

import pyarrow as pa

from treetop.answers.answer import MARKS, SIMULATED, SIMULATION, Answer
from treetop.answers.result_files import html_bar, html_table, html_text
from treetop.extras import needed_for
from treetop.public_text import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Blue and vermilion of Okabe and Ito, which everybody can distinguish.
BAR = "#0072B2"
TRUE = "#D55E00"
FALLBACK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "WenQuanYi Zen Hei",
    "PingFang SC",
    "Hiragino Sans",
    "Microsoft YaHei",
    "Noto Emoji",
    "Symbola",
    "Segoe UI Emoji",
)
"""Fonts that matplotlib takes, where they are installed, for characters that the usual one lacks (CJK, emoji)."""


def answer_html(answer: Answer) -> str:
    """Return the answer as a table with its notes below."""
    largest = max((row.count for row in answer.items), default=0.0) or 1.0
    known = any(row.true_count is not None for row in answer.items)
    rows = [
        [
            f"{rank} {MARKS[row.significant]}",
            html_text(row.item),
            html_bar(row.count / largest, BAR),
            f"{row.count:,.0f} ± {row.stderr:,.0f}",
            f"{row.frequency:.2%}",
            *([f"{row.true_count:,}"] if known else []),
        ]
        for rank, row in enumerate(answer.items, start=1)
    ]
    below = [answer.marks_line] if any(row.significant is not None for row in answer.items) else []
    if answer.truth is not None:
        below.append(f"F1 {answer.truth.f1:.2f}, NCR {answer.truth.ncr:.2f} against the true top {answer.k}.")
    below.append(answer.privacy_line)
    if answer.mode == SIMULATION:
        below.append(SIMULATED)
    below += [note.text for note in answer.notes]
    names = ["", "item", "", "users", "share", *(["true"] if known else [])]
    return html_table(answer.title, names, rows, 3, below)


def items_table(answer: Answer) -> pa.Table:
    """Return the items as a pyarrow table."""
    kinds = {
        "item": pa.string(),
        "count": pa.float64(),
        "frequency": pa.float64(),
        "stderr": pa.float64(),
        "parties": pa.int64(),
        "true_count": pa.int64(),
        "significant": pa.bool_(),
        "source": pa.string(),
    }
    rows = [{name: getattr(row, name) for name in kinds} for row in answer.items]
    return pa.Table.from_pylist(rows, schema=pa.schema(kinds))


def plot_answer(answer: Answer, axes: "Axes | None" = None) -> "Axes":
    """Draw a bar with its error bar for each item; needs the extra `plot`."""
    with needed_for("a plot", "plot"):
        from matplotlib import font_manager, rcParams  # noqa: PLC0415  an extra, loaded by those who plot

    items = answer.to_arrow()
    rows = items.to_pydict()
    ranks = range(len(items))
    if axes is None:
        with needed_for("a plot", "plot"):
            from matplotlib import pyplot  # noqa: PLC0415  an extra, loaded by those who plot

        _, axes = pyplot.subplots(figsize=(7, 1.2 + 0.35 * max(len(items), 3)), layout="constrained")
    axes.barh(ranks, rows["count"], xerr=rows["stderr"], color=BAR, capsize=3, label="estimate ± standard error")
    known = [rank for rank in ranks if rows["true_count"][rank] is not None]
    if known:
        true = [rows["true_count"][rank] for rank in known]
        axes.scatter(true, known, color=TRUE, marker="D", s=28, zorder=3, label="true count")
    installed = {font.name for font in font_manager.fontManager.ttflist}
    families = [*rcParams["font.family"], *(name for name in FALLBACK_FONTS if name in installed)]
    axes.set_yticks(ranks, [visible(item) for item in rows["item"]], parse_math=False, fontfamily=families)
    axes.invert_yaxis()
    axes.set_xlabel("users")
    axes.set_title(answer.title, loc="left", fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, loc="lower right")
    return axes
