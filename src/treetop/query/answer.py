"""An answer to "which items are most popular across all of us?", as text, as HTML, as a table and as a plot."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from treetop.extras import needed_for
from treetop.metrics.noise_advice import Advice
from treetop.oracles.set_question import HOLDERS
from treetop.public_text import visible
from treetop.query.answer_json import read_answer, written_answer
from treetop.query.answer_parts import (
    AnswerItem,
    AnswerParty,
    CampaignPlace,
    Covered,
    MissingParty,
    OutsideShare,
    Privacy,
    Truth,
)
from treetop.query.result_files import html_bar, html_table, html_text, write_result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BAR, TRUE = "#0072B2", "#D55E00"
FALLBACK_FONTS = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "WenQuanYi Zen Hei", "PingFang SC", "Hiragino Sans", "Microsoft YaHei",
    "Noto Emoji", "Symbola", "Segoe UI Emoji",
)  # fmt: skip
"""Fonts that matplotlib takes, where they are installed, for characters that the usual one lacks (CJK, emoji)."""
"""Blue and vermilion of Okabe and Ito, which everybody can distinguish."""
SIMULATION = "simulation"
SIMULATED = "This was a simulation on data you hold: no device was asked."
MARKS: Mapping[bool | None, str] = {True: "●", False: "○", None: ""}
"""What stands out from noise, and what may be noise."""
SHOWN_ITEMS, SHOWN_TEXT = 10, 40
"""Of the short form: items, and characters of each."""


@dataclass(frozen=True, repr=False)
class Answer:
    """The top k of a federation with error bars, how they were found, and what to know before using them."""

    mechanism: str
    oracle: str
    encoding: str
    k: int
    epsilon: float
    seed: int | None
    """Of the simulation, or of the choice of simulated users; None in a deployment, where nothing is seeded."""
    items: tuple[AnswerItem, ...]
    parties: tuple[AnswerParty, ...]
    notes: tuple[str, ...]
    """What a reader should know: about the data, the settings, and what went on."""
    choices: tuple[str, ...]
    """What was chosen from public quantities, and why."""
    missing: tuple[MissingParty, ...]
    mode: str
    """`one-shot` or `rounds` in a deployment, `simulation` otherwise."""
    task: str | None
    """Digest of the signed task of a deployment."""
    name: str | None
    """What the query of a deployment is called."""
    covered: Covered
    levels: int
    privacy: Privacy
    fakes_needed: int | None
    """About how many fake users could push an item that nobody holds into the top k; None: not computed."""
    outside: OutsideShare | None = None
    """With a catalogue: who holds something else."""
    truth: Truth | None = None
    """Where the data are known."""
    advice: Advice | None = None
    """From a simulation: what would lift the last item out of the noise."""
    items_per_user: int | None = None
    """Where users hold sets: the items of a user that her report speaks of, at most. None: everybody holds one item."""
    reading: str = HOLDERS
    """What a count estimates: holders, shares or use_shares."""
    campaign: CampaignPlace | None = None
    """In a campaign: which week it is."""

    @property
    def users(self) -> int:
        """Return the users of all parties that took part."""
        return sum(party.users for party in self.parties)

    @property
    def title(self) -> str:
        """Return in one line what was asked and how."""
        mode = "" if self.mode == SIMULATION else f"{self.mode}, "
        seed = "" if self.seed is None else f", seed {self.seed}"
        how = f"{self.mechanism}, {mode}{self.oracle} oracle, {self.encoding}"
        return f"{how}, k = {self.k}, ε = {self.epsilon:g}{seed}"

    def __repr__(self) -> str:
        named = [row.item if len(row.item) <= SHOWN_TEXT else row.item[: SHOWN_TEXT - 1] + "…" for row in self.items]
        if (more := len(named) - SHOWN_ITEMS) > 0:
            named[SHOWN_ITEMS:] = [f"and {more:,} more"]
        return visible(f"Answer({self.title}: {', '.join(named) or 'no items'})")

    def _repr_html_(self) -> str:
        """Return the answer as notebooks show it."""
        largest = max((row.count for row in self.items), default=0.0) or 1.0
        known = any(row.true_count is not None for row in self.items)
        rows = [
            [
                f"{rank} {MARKS[row.significant]}", html_text(row.item), html_bar(row.count / largest, BAR),
                f"{row.count:,.0f} ± {row.stderr:,.0f}", f"{row.frequency:.2%}",
                *([f"{row.true_count:,}"] if known else []),
            ]
            for rank, row in enumerate(self.items, start=1)
        ]  # fmt: skip
        below = [self.marks_line] if any(row.significant is not None for row in self.items) else []
        if self.truth is not None:
            below.append(f"F1 {self.truth.f1:.2f}, NCR {self.truth.ncr:.2f} against the true top {self.k}.")
        below += [self.privacy_line, *([SIMULATED] if self.mode == SIMULATION else []), *self.notes]
        return html_table(self.title, ["", "item", "", "users", "share", *(["true"] if known else [])], rows, 3, below)

    @property
    def privacy_line(self) -> str:
        """Say in one sentence what every user was promised, for her item or for her whole set."""
        if self.items_per_user is None:
            return f"Privacy: {self.privacy}."
        return f"Privacy of a user's whole set of items: {self.privacy.about('set')}."

    @property
    def marks_line(self) -> str:
        """Say how many items stand out from noise."""
        marks = [row.significant for row in self.items if row.significant is not None]
        others = f"; {MARKS[False]} may be noise" if not all(marks) else ""
        return f"{MARKS[True]} {standing_out(marks)}{others}."

    @property
    def partly_counted(self) -> int:
        """Return of how many items some party has no count, so that its holders are left out."""
        named = [len(row.by_party) if row.parties is None else row.parties for row in self.items]
        return sum(0 < parties < len(self.parties) for parties in named)

    def write(self, path: str | Path) -> None:
        """Write the answer to .json or .html, or its items to .csv or .parquet, whole or not at all."""
        write_result(path, self.to_arrow(), self.to_json(), self._repr_html_())

    def to_json(self) -> dict[str, Any]:
        """Return what `find`, `query` and `up` print with `--json`.

        `truth` is there where the data are known, `campaign` where the answer is that of a week.
        """
        return written_answer(self)

    @classmethod
    def from_json(cls, content: Any) -> "Answer":
        """Read the answer that a server stores, strictly: of this schema, with every key and no other."""
        return cls(**read_answer(content))

    def to_arrow(self) -> pa.Table:
        """Return the items as a pyarrow table."""
        kinds = {
            "item": pa.string(), "count": pa.float64(), "frequency": pa.float64(), "stderr": pa.float64(),
            "parties": pa.int64(), "true_count": pa.int64(), "significant": pa.bool_(), "source": pa.string(),
        }  # fmt: skip
        rows = [{name: getattr(row, name) for name in kinds} for row in self.items]
        return pa.Table.from_pylist(rows, schema=pa.schema(kinds))

    def to_pandas(self) -> Any:
        """Return the items as a pandas DataFrame; needs the extra `pandas`."""
        with needed_for("a DataFrame", "pandas"):
            return self.to_arrow().to_pandas()

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw a bar with its error bar for each item; needs the extra `plot`."""
        with needed_for("a plot", "plot"):
            from matplotlib import font_manager, rcParams  # noqa: PLC0415  an extra, loaded by those who plot

        items, title = self.to_arrow(), self.title
        rows, ranks = items.to_pydict(), range(len(items))
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
        axes.set_title(title, loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="lower right")
        return axes


def standing_out(marks: Sequence[bool]) -> str:
    """Say how many of the items that were tested stand out."""
    marked = sum(marks)
    return f"{marked} of {len(marks)} items {'stands' if marked == 1 else 'stand'} out from noise"
