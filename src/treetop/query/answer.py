"""An answer to "which items are most popular across all of us?"."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from treetop.mechanisms.dialogue import LevelTrace
from treetop.mechanisms.parameters import Parameters
from treetop.metrics.noise_advice import Advice
from treetop.query.score import Score
from treetop.trie.global_ranking import Source

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class AnswerItem:
    """One of the k items."""

    item: str
    count: float
    """Estimated users, summed over the parties that named the item; unbiased and signed."""
    frequency: float
    stderr: float
    """Standard error of the count."""
    parties: int
    """How many parties named it; the others add nothing to the count."""
    true_count: int
    """Known here because the data are."""
    significant: bool | None = None
    """Whether noise alone would hardly show it (5 % of runs mark an item that nobody holds); None: not tested."""
    source: Source | None = None
    """With hashed names: whether a word list named it, its text was recovered, or it is an unknown hash."""


@dataclass(frozen=True)
class OutsideShare:
    """The estimated share of users whose item is not in the catalogue."""

    share: float
    stderr: float
    true_share: float


@dataclass(frozen=True)
class AnswerParty:
    """What one party did and sent."""

    name: str
    users: int
    uplink_bits: int
    items: tuple[str, ...]
    """Its own top k."""
    trace: tuple[LevelTrace, ...]


@dataclass(frozen=True)
class Answer:
    """The top k of a federation, with error bars, and how they were found."""

    mechanism: str
    encoding: str
    parameters: Parameters
    seed: int
    items: tuple[AnswerItem, ...]
    parties: tuple[AnswerParty, ...]
    truth: Score
    users: int
    advice: Advice | None
    notes: tuple[str, ...]
    choices: tuple[str, ...] = ()
    """What was chosen from public quantities, and why."""
    outside: OutsideShare | None = None
    """With a catalogue: who holds something else."""

    def to_json(self) -> dict[str, Any]:
        """Return the object that `treetop find --json` prints."""
        return {
            "mechanism": self.mechanism,
            "oracle": self.parameters.oracle,
            "encoding": self.encoding,
            "k": self.parameters.k,
            "epsilon": float(self.parameters.epsilon),
            "seed": self.seed,
            "items": [
                {
                    "item": row.item,
                    "count": row.count,
                    "frequency": row.frequency,
                    "stderr": row.stderr,
                    **({} if row.source is None else {"source": row.source}),
                }
                for row in self.items
            ],
            "parties": [
                {"name": party.name, "users": party.users, "uplink_bits": party.uplink_bits} for party in self.parties
            ],
            "truth": {"f1": self.truth.f1, "ncr": self.truth.ncr},
        }

    def to_arrow(self) -> pa.Table:
        """Return the items as a pyarrow table."""
        names = ("item", "count", "frequency", "stderr", "parties", "true_count", "significant")
        columns = {name: [getattr(row, name) for row in self.items] for name in names}
        return pa.table({**columns, "significant": pa.array(columns["significant"], pa.bool_())})

    def to_pandas(self) -> Any:
        """Return the items as a pandas DataFrame; pandas must be installed."""
        return self.to_arrow().to_pandas()

    def plot(self, axes: "Axes | None" = None) -> "Axes":
        """Draw a bar with its error bar for each item; matplotlib must be installed (`treetop[plot]`)."""
        from treetop.query.answer_plot import draw  # noqa: PLC0415  matplotlib is an extra

        return draw(self.to_arrow(), self.title, axes)

    @property
    def title(self) -> str:
        """Return in one line what was asked and how."""
        p = self.parameters
        return f"{self.mechanism}, {p.oracle} oracle, {self.encoding}, k = {p.k}, ε = {p.epsilon:g}, seed {self.seed}"
