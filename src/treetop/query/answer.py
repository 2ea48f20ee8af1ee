"""An answer to "which items are most popular across all of us?", its JSON form and its plot."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from sys import float_info
from typing import TYPE_CHECKING, Any, get_args

import pyarrow as pa

from treetop.errors import InvalidInput, PeerViolation
from treetop.extras import needed_for
from treetop.mechanisms.dialogue import LevelTrace
from treetop.mechanisms.strict_json import decimal, record, require, rows, text, whole
from treetop.metrics.changes import Mark
from treetop.metrics.noise_advice import Advice
from treetop.oracles.set_question import HOLDERS, READINGS
from treetop.privacy.epsilon import LARGEST, Epsilon
from treetop.privacy.guarantee import Guarantee
from treetop.privacy.shuffling import CentralGuarantee
from treetop.public_text import visible, writable
from treetop.query.result_files import html_bar, html_table, html_text, write_result
from treetop.trie.global_ranking import Source

if TYPE_CHECKING:
    from matplotlib.axes import Axes


BAR, TRUE = "#0072B2", "#D55E00"
"""Blue and vermilion of Okabe and Ito, which everybody can distinguish."""
SCHEMA = 1
"""Of the JSON form that docs/reference/answer_json.md describes; it changes when a key goes or changes its meaning."""
SIMULATION = "simulation"
SIMULATED = "This was a simulation on data you hold: no device was asked."
MARKS: Mapping[bool | None, str] = {True: "●", False: "○", None: ""}
"""What stands out from noise, and what may be noise."""
SHOWN_ITEMS, SHOWN_TEXT = 10, 40
"""Of the short form: items, and characters of each."""
SOMETIMES = ("truth", "campaign")
"""Keys that are there only where they apply."""
MAX_NUMBER, MAX_ROWS, MAX_TEXT = 1 << 64, 1 << 22, 1 << 16


@dataclass(frozen=True)
class PartyCount:
    """What one party counted of an item."""

    party: str
    count: float
    stderr: float


@dataclass(frozen=True)
class AnswerItem:
    """One of the k items."""

    item: str
    count: float
    """Estimated users, summed over the parties that named the item; unbiased and signed."""
    frequency: float
    stderr: float
    """Standard error of the count."""
    significant: bool | None = None
    """Whether noise alone would hardly show it (5 % of runs mark an item that nobody holds); None: not tested."""
    source: Source | None = None
    """With hashed names: whether a word list named it, its text was recovered, or it is an unknown hash."""
    parties: int | None = None
    """How many parties named it; the others add nothing to the count. None: not known."""
    true_count: int | None = None
    """Where the data are known: how many users really hold it."""
    by_party: tuple[PartyCount, ...] = ()
    """The count of every party that named it; they add up to the item's."""


@dataclass(frozen=True)
class AnswerParty:
    """What one party did and sent."""

    name: str
    users: int
    uplink_bits: int
    implausible: int = 0
    """Reports that no honest device would send."""
    share: float = 1.0
    """Of all users that were counted."""
    expected: int | None = None
    """Users it was expected to have; None: nobody said."""
    coverage: float | None = None
    """Users counted / users expected."""
    central: CentralGuarantee | None = None
    """What is promised towards the server and readers, if the party is honest."""
    items: tuple[str, ...] = ()
    """Its own top k, where that is known."""
    trace: tuple[LevelTrace, ...] = ()
    """What happened at each of its levels, where that is known."""


@dataclass(frozen=True)
class MissingParty:
    """A party that is not part of the answer."""

    name: str
    reason: str
    levels: int
    """The last level that it reported."""
    expected: int | None = None
    """Users it was expected to have; None: nobody said."""


@dataclass(frozen=True)
class Covered:
    """How many users the answer stands for."""

    users: int
    of: str
    """What `known` counts: the users who were `expected`, or those who are `known` to the server."""
    known: int
    share: float | None
    """None where nobody knows how many users a missing party has."""


@dataclass(frozen=True)
class Privacy:
    """What every user was promised."""

    epsilon: str
    """In decimal digits, exactly as devices computed with it."""
    reports_per_user: int
    oracle: str
    not_covered: str
    """The page that says what the promise does not cover."""

    def __str__(self) -> str:
        return str(Guarantee(Epsilon(self.epsilon), self.oracle, self.reports_per_user))


@dataclass(frozen=True)
class OutsideShare:
    """The estimated share of users whose item is not in the catalogue."""

    share: float
    stderr: float
    true_share: float | None = None


@dataclass(frozen=True)
class ItemChange:
    """What became of an item since the week before (`metrics.changes`)."""

    item: str
    mark: Mark | None
    """Up or down: its share changed beyond noise. New, gone: the other week does not count it. None: may be noise."""
    score: float | None
    """By how many standard deviations the shares differ; None where one week has no estimate."""


@dataclass(frozen=True)
class Refusals:
    """Devices that may not answer, by the public code that they tell."""

    not_my_week: int = 0
    budget_window: int = 0
    budget_lifetime: int = 0
    budget_task: int = 0


@dataclass(frozen=True)
class CampaignPlace:
    """Which week of a campaign the answer is of, and what changed."""

    campaign: str
    """Digest of the signed campaign."""
    cycle: int
    """From 1 on, as are weeks."""
    week: int
    refusals: Refusals
    """How many devices told their party why they do not answer."""
    compared_with: int | None = None
    """Number of the week that it is compared with, counted through all cycles; None: none before has an answer."""
    changes: tuple[ItemChange, ...] = ()
    """The items of the answer in their order, then those that are gone; none where it was compared with nothing."""


@dataclass(frozen=True)
class Truth:
    """The answer scored against the ground truth."""

    f1: float
    ncr: float


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
        below += [f"Privacy: {self.privacy}.", *([SIMULATED] if self.mode == SIMULATION else []), *self.notes]
        return html_table(self.title, ["", "item", "", "users", "share", *(["true"] if known else [])], rows, 3, below)

    @property
    def marks_line(self) -> str:
        """Say how many items stand out from noise."""
        marks = [row.significant for row in self.items if row.significant is not None]
        others = f"; {MARKS[False]} may be noise" if not all(marks) else ""
        return f"{MARKS[True]} {sum(marks)} of {len(marks)} items stand out from noise{others}."

    def write(self, path: str | Path) -> None:
        """Write the answer to .json or .html, or its items to .csv or .parquet, whole or not at all."""
        write_result(path, self.to_arrow(), self.to_json(), self._repr_html_())

    def to_json(self) -> dict[str, Any]:
        """Return what `find`, `query` and `up` print with `--json`.

        `truth` is there where the data are known, `campaign` where the answer is that of a week.
        """
        content: dict[str, Any] = {"schema": SCHEMA, **_written(self)}
        return {name: value for name, value in content.items() if name not in SOMETIMES or value is not None}

    @classmethod
    def from_json(cls, content: Any) -> "Answer":
        """Read the answer that a server stores, strictly: of this schema, with every key and no other."""
        require(type(content) is dict, "answer", "an object", type(content).__name__)
        schema = content.get("schema")
        require(type(schema) is int and schema == SCHEMA, "schema of the answer", SCHEMA, schema)
        fields = {name: value for name, value in content.items() if name != "schema"}
        for name in SOMETIMES:
            require(fields.get(name, {}) is not None, f"answer.{name}", "an object, or no such key", None)
        answer: Answer = _object(cls)("answer", {**dict.fromkeys(SOMETIMES), **fields})
        return answer

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
            from treetop.query.plot_fonts import drawable  # noqa: PLC0415  an extra, loaded by those who plot

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
        names, families = drawable(visible(item) for item in rows["item"])
        axes.set_yticks(ranks, names, parse_math=False, fontfamily=families)
        axes.invert_yaxis()
        axes.set_xlabel("users")
        axes.set_title(title, loc="left", fontsize=10)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="lower right")
        return axes


Reader = Callable[[str, Any], Any]
"""Takes the name of a value and what was found there, and refuses what it should not be."""


def _text(what: str, content: Any) -> str:
    return writable(text(what, content, MAX_TEXT))


def _whole(what: str, content: Any) -> int:
    return whole(what, content, 0, MAX_NUMBER)


def _number(what: str, content: Any) -> float:
    return decimal(what, content, -float_info.max, float_info.max)


def _positive(what: str, content: Any) -> float:
    return decimal(what, content, float_info.min, LARGEST)


def _share(what: str, content: Any) -> float:
    return decimal(what, content, float_info.min, 1 - float_info.epsilon)


def _epsilon(what: str, content: Any) -> str:
    try:
        Epsilon(found := _text(what, content))
    except InvalidInput:
        raise PeerViolation(what, "decimal digits of an epsilon", content) from None
    return found


def _one_of(*values: object) -> Reader:
    def read(what: str, content: Any) -> Any:
        holds = any(type(content) is type(value) and content == value for value in values)
        require(holds, what, f"one of {', '.join(map(str, values))}", content)
        return content

    return read


def _or_null(reader: Reader) -> Reader:
    return lambda what, content: None if content is None else reader(what, content)


def _list(reader: Reader) -> Reader:
    return lambda what, content: tuple(reader(what, entry) for entry in rows(what, content, 0, MAX_ROWS))


def _object(kind: type[Any]) -> Reader:
    """Read an object whose keys are those of the shape, and no others."""

    def read(what: str, content: Any) -> Any:
        shape = SHAPES[kind]
        found = record(what, content, set(shape))
        return kind(**{name: reader(f"{what}.{name}", found[name]) for name, reader in shape.items()})

    return read


def _item(what: str, content: Any) -> Any:
    """Read an item; answers of servers before 0.2 do not say what each party counted."""
    older = type(content) is dict and "by_party" not in content
    return _object(AnswerItem)(what, {**content, "by_party": []} if older else content)


def _written(value: Any) -> Any:
    """Return a value as JSON: what has a shape as an object with its keys, in its order."""
    if isinstance(value, tuple):
        return [_written(entry) for entry in value]
    shape = SHAPES.get(type(value))
    return value if shape is None else {name: _written(getattr(value, name)) for name in shape}


SHAPES: Mapping[type, Mapping[str, Reader]] = {
    Answer: {
        "mechanism": _text, "oracle": _text, "encoding": _text, "k": _whole, "epsilon": _number,
        "seed": _or_null(_whole), "items": _list(_item), "parties": _list(_object(AnswerParty)),
        "notes": _list(_text), "choices": _list(_text), "missing": _list(_object(MissingParty)),
        "truth": _or_null(_object(Truth)), "mode": _text, "task": _or_null(_text), "name": _or_null(_text),
        "covered": _object(Covered), "levels": _whole, "privacy": _object(Privacy),
        "fakes_needed": _or_null(_whole), "outside": _or_null(_object(OutsideShare)),
        "items_per_user": _or_null(_whole), "reading": _one_of(*READINGS),
        "campaign": _or_null(_object(CampaignPlace)),
    },
    CampaignPlace: {
        "campaign": _text, "cycle": _whole, "week": _whole, "refusals": _object(Refusals),
        "compared_with": _or_null(_whole),
        "changes": _list(_object(ItemChange)),
    },
    Refusals: dict.fromkeys((each.name for each in fields(Refusals)), _whole),
    ItemChange: {"item": _text, "mark": _or_null(_one_of(*get_args(Mark))), "score": _or_null(_number)},
    AnswerItem: {
        "item": _text, "count": _number, "frequency": _number, "stderr": _number,
        "significant": _or_null(_one_of(True, False)), "source": _or_null(_one_of(*get_args(Source))),
        "by_party": _list(_object(PartyCount)),
    },
    PartyCount: {"party": _text, "count": _number, "stderr": _number},
    AnswerParty: {
        "name": _text, "users": _whole, "uplink_bits": _whole, "implausible": _whole, "share": _number,
        "expected": _or_null(_whole), "coverage": _or_null(_number), "central": _or_null(_object(CentralGuarantee)),
    },
    CentralGuarantee: {"epsilon": _positive, "delta": _share},
    MissingParty: {"name": _text, "reason": _text, "levels": _whole, "expected": _or_null(_whole)},
    Covered: {"users": _whole, "of": _one_of("expected", "known"), "known": _whole, "share": _or_null(_number)},
    Privacy: {"epsilon": _epsilon, "reports_per_user": _whole, "oracle": _text, "not_covered": _text},
    OutsideShare: {"share": _number, "stderr": _number, "true_share": _or_null(_number)},
    Truth: {"f1": _number, "ncr": _number},
}  # fmt: skip
"""The JSON form: the keys of every object in their order, and how each is read."""
