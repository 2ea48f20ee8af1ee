"""A recipe: how corpora that the user has, or fetches, become the histograms of one federation."""

from dataclasses import dataclass, field
from pathlib import Path

from treetop.errors import InvalidInput, UnknownName
from treetop.toml_files import read_toml

KINDS = ("text", "clicks")
ITEMS = ("distinct", "occurrences")


@dataclass(frozen=True)
class Corpus:
    """One corpus: where it is, and which part of a record counts."""

    files: tuple[str, ...] = ()
    """Paths or patterns, relative to the recipe. Endings: .txt .csv .tsv .jsonl, also with .gz .bz2 .xz."""
    url: str = ""
    """Where the user fetches it from, if it is not there yet."""
    sha256: str = ""
    """Checksum of the file behind the address."""
    column: str = ""
    """Column or key that holds the text (text) or the item (clicks); not for .txt."""
    user_column: str = ""
    """Column or key that names the user of a click; without it every click is a user."""


@dataclass(frozen=True)
class RecipeParty:
    """One party: a corpus of its own, and how many users are wanted of it."""

    name: str
    corpus: Corpus
    users: int | None = None
    """As many records or users, drawn at random; all of them where it is left out."""


@dataclass(frozen=True)
class Recipe:
    """One federation: parties with corpora of their own, or one click log dealt to parties."""

    name: str
    kind: str
    seed: int = 0
    items: str = "distinct"
    """Whether a word repeated in a record counts once, as in the paper, or as often as it stands there."""
    parties: tuple[RecipeParty, ...] = ()
    log: Corpus | None = None
    split: dict[str, int] = field(default_factory=dict)
    """Parties of a shared log and their numbers of users."""

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise UnknownName("kind of a recipe", self.kind, KINDS)
        if self.items not in ITEMS:
            raise UnknownName("items of a recipe", self.items, ITEMS)
        if bool(self.parties) == bool(self.log) or bool(self.log) != bool(self.split):
            raise InvalidInput(f"recipe {self.name!r}: expected either [[parties]], or [log] and [split]")
        if self.log and self.kind != "clicks":
            raise InvalidInput(f"recipe {self.name!r}: only a click log can be split into parties")
        names = [party.name for party in self.parties]
        if len(set(names)) < len(names):
            raise InvalidInput(f"recipe {self.name!r}: every party needs a name of its own, found {', '.join(names)}")


def read_recipe(path: Path) -> Recipe:
    """Read a recipe; unknown keys are refused."""
    return read_toml(path, Recipe)
