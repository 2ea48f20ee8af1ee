"""The answer to "which items are most popular across all of us?", whoever computed it: a simulator or a server."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from treetop.answers.json_form import read_answer, written_answer
from treetop.answers.parts import (
    AnswerItem,
    AnswerParty,
    CampaignPlace,
    Covered,
    MissingParty,
    OutsideShare,
    Privacy,
    Truth,
)
from treetop.extras import needed_for
from treetop.metrics.answer_quality import Advice
from treetop.oracles.set_reports import HOLDERS
from treetop.public_text import visible
from treetop.wording import Note

if TYPE_CHECKING:
    import pyarrow as pa
    from matplotlib.axes import Axes


SIMULATION = "simulation"
SIMULATED = "This was a simulation on data you hold: no device was asked."
MARKS: Mapping[bool | None, str] = {True: "●", False: "○", None: ""}
"""What stands out from noise, and what may be noise."""
SHOWN_ITEMS = 10
"""Items in the short form of an answer."""
SHOWN_TEXT = 40
"""Characters of each."""


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
    notes: tuple[Note, ...]
    """What a reader should know: about the data, the settings, and what went on."""
    choices: tuple[Note, ...]
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
        from treetop.answers.presentation import answer_html  # noqa: PLC0415  a server shows nothing

        return answer_html(self)

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
        from treetop.answers.result_files import write_result  # noqa: PLC0415  a server writes no files

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

    def to_arrow(self) -> "pa.Table":
        """Return the items as a pyarrow table."""
        from treetop.answers.presentation import items_table  # noqa: PLC0415

        return items_table(self)

    def to_pandas(self) -> Any:
        """Return the items as a pandas DataFrame; needs the extra `pandas`."""
        with needed_for("a DataFrame", "pandas"):
            return self.to_arrow().to_pandas()

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw a bar with its error bar for each item; needs the extra `plot`."""
        from treetop.answers.presentation import plot_answer  # noqa: PLC0415

        return plot_answer(self, axes)


def standing_out(marks: Sequence[bool]) -> str:
    """Say how many of the items that were tested stand out."""
    marked = sum(marks)
    return f"{marked} of {len(marks)} items {'stands' if marked == 1 else 'stand'} out from noise"
