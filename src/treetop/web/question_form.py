"""What the forms of all pages ask: the question and its list, read and checked once, and as options of a command."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeVar

from treetop.encoding.item_codecs import ItemCatalogue
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.query import FIELDS, STRATEGIES, Query
from treetop.privacy.budget import Budget
from treetop.web.site import Visit

LIST_KINDS = {"": "none", "catalogue": "all items that there are", "word_list": "words that names are read as"}
STRATEGIES_IN_WORDS = tuple(
    zip(
        STRATEGIES, ("every name at once", "a trie, level by level", "a catalogue that is given", "hashes"), strict=True
    )
)
LIST_FILE = "items.txt"
"""What a list from the page is called in the command line, and in the answer."""
MAX_K = 1000
"""On a page; a command takes more."""
LIMITS: dict[str, Any] = {"about": FIELDS, "max_k": MAX_K}
"""What the template of the fields shows of a query."""
Number = TypeVar("Number", int, float)


@dataclass(frozen=True)
class AskedQuestion:
    """A question as a form asks it; refused here if a field is not what was expected."""

    k: int = FIELDS["k"].default
    epsilon: str = FIELDS["epsilon"].default
    """In decimal digits."""
    strategy: str | None = None
    list_kind: str = ""
    listed: str = ""
    """One item per line."""

    def __post_init__(self) -> None:
        if not 1 <= self.k <= MAX_K:
            raise InvalidInput("k_out_of_range", max_k=MAX_K, k=self.k)
        Budget(self.epsilon)
        if self.list_kind not in LIST_KINDS:
            raise UnknownName("kind of list", self.list_kind, tuple(LIST_KINDS))
        if self.list_kind and self.known is None:
            raise InvalidInput("list_empty")
        self.query  # noqa: B018  refuses what cannot be asked

    @classmethod
    def read(cls, visit: Visit) -> "AskedQuestion":
        """Read the fields of a form; one that is not there keeps its default."""
        return cls(
            number(visit, "k", cls.k, int),
            visit.field("epsilon", cls.epsilon).strip(),
            visit.field("strategy") or None,
            visit.field("list_kind"),
            visit.field("listed"),
        )

    @cached_property
    def known(self) -> ItemCatalogue | None:
        """Return the list, read as the command would read its file."""
        lines = [line.strip() for line in self.listed.removeprefix("\ufeff").splitlines()]
        if not self.list_kind or not any(lines):
            return None
        read = replace(ItemCatalogue.of(lines), source=LIST_FILE)
        return replace(read, notes=()) if self.list_kind == "word_list" else read

    @cached_property
    def query(self) -> Query:
        """Return what is asked."""
        lists: dict[str, Any] = {self.list_kind: self.known} if self.list_kind else {}
        return Query(self.k, self.epsilon, strategy=self.strategy, **lists)

    @property
    def options(self) -> list[str]:
        """Return the options that ask a command the same."""
        found = ["--k", str(self.k), "--epsilon", self.epsilon]
        if self.strategy is not None:
            found += ["--strategy", self.strategy]
        if self.list_kind:
            found += [f"--{self.list_kind.replace('_', '-')}", LIST_FILE]
        return found


def number(visit: Visit, name: str, default: Number, kind: Callable[[str], Number]) -> Number:
    """Return a field that is a number."""
    text = visit.field(name).strip()
    try:
        return kind(text) if text else default
    except (ValueError, OverflowError):
        raise InvalidInput("field_not_number", name=name, float="whole " * (kind is not float), text=text) from None


def chosen(visit: Visit, name: str, known: Sequence[str]) -> list[str]:
    """Return the values of a field that were ticked, in the order of those that there are."""
    ticked = visit.form.get(name, ())
    for value in ticked:
        if value not in known:
            raise UnknownName(name, value, known)
    return [value for value in known if value in ticked]
