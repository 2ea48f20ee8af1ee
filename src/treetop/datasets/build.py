"""Build the histograms of a federation by a recipe, from corpora that the user has or downloads."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from treetop.datasets.corpora import (
    Progress,
    check,
    dealt_to_parties,
    every_click,
    fetch,
    one_item_each,
    one_word_each,
    records,
    sample,
)
from treetop.errors import InvalidInput, UnknownName
from treetop.toml_files import read_toml

KINDS = ("text", "clicks")
ITEMS = ("distinct", "occurrences")


@dataclass(frozen=True)
class Corpus:
    """One corpus: its files or address, and the part of a record that counts."""

    files: tuple[str, ...] = ()
    """Paths or patterns, relative to the recipe. Endings: .txt .csv .tsv .jsonl, also with .gz .bz2 .xz."""
    url: str = ""
    """Address to download it from, if it is not there yet."""
    sha256: str = ""
    """Checksum of the file behind the address."""
    column: str = ""
    """Column or key that holds the text (text) or the item (clicks); not for .txt."""
    user_column: str = ""
    """Column or key that names the user of a click; without it every click is a user."""


@dataclass(frozen=True)
class RecipeParty:
    """One party: its corpus, and the number of users to take from it."""

    name: str
    corpus: Corpus
    users: int | None = None
    """Number of records or users to draw at random; all of them if left out."""


@dataclass(frozen=True)
class Recipe:
    """One federation: parties that each have a corpus, or one click log dealt to parties."""

    name: str
    kind: str
    seed: int = 0
    items: str = "distinct"
    """Whether a word repeated in a record counts once, as in the paper, or at each occurrence."""
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
            raise InvalidInput("recipe_sources", name=self.name)
        if self.log and self.kind != "clicks":
            raise InvalidInput("recipe_split", name=self.name)
        names = [party.name for party in self.parties]
        if len(set(names)) < len(names):
            raise InvalidInput("recipe_party_names", name=self.name, names=", ".join(names))


def read_recipe(path: Path) -> Recipe:
    """Read a recipe; unknown keys are refused."""
    return read_toml(path, Recipe)


Counted = Callable[[int], None]
"""Called with the number of records read since the last call."""
REPORTED_EVERY = 1000
"""Records between two calls."""


@dataclass(frozen=True)
class BuiltParty:
    """The number of users and items that a party's corpus gave, and the number asked for."""

    name: str
    users: int
    items: int
    asked: int | None


class Builder:
    """Reads the corpora of a recipe as streams and counts their items."""

    def __init__(
        self,
        recipe: Recipe,
        folder: Path,
        downloads: Path,
        *,
        fetched: Progress = lambda _done, _total: None,
        counted: Counted = lambda _: None,
    ) -> None:
        self.recipe = recipe
        self.folder = folder
        self.downloads = downloads
        self._fetched = fetched
        self._counted = counted
        self.checksums: dict[str, str] = {}
        """SHA-256 of every file that was read."""

    def build(self) -> dict[str, Counter[str]]:
        """Return every party's histogram; each party has its own streams of the seed."""
        if self.recipe.log is not None:
            return dealt_to_parties(self._users(self.recipe.log, 0), self.recipe.split, self._randomness(1))
        return {
            party.name: sample(self._users(party.corpus, 2 * index), party.users, self._randomness(2 * index + 1))
            for index, party in enumerate(self.recipe.parties)
        }

    def _users(self, corpus: Corpus, stream: int) -> Iterable[str]:
        """Return one item for every user of a corpus."""
        randomness = self._randomness(stream)
        paths = self._files(corpus)
        if self.recipe.kind == "text":
            texts = (record[0] for record in self._with_progress(records(paths, [corpus.column])))
            return one_word_each(texts, randomness, distinct=self.recipe.items == "distinct")
        if not corpus.user_column:
            return every_click(self._with_progress(records(paths, [corpus.column])))
        clicks = self._with_progress(records(paths, [corpus.user_column, corpus.column]))
        return one_item_each(((click[0], click[1]) for click in clicks), randomness)

    def _files(self, corpus: Corpus) -> list[Path]:
        paths = [fetch(corpus.url, self.downloads, corpus.sha256, self._fetched)] if corpus.url else []
        for pattern in corpus.files:
            found = sorted(self.folder.glob(pattern)) if not Path(pattern).is_absolute() else [Path(pattern)]
            if not found:
                raise InvalidInput("corpus_missing", pattern=self.folder / pattern)
            paths += found
        if not paths:
            raise InvalidInput("recipe_corpus", name=self.recipe.name)
        self.checksums |= {str(path): check(path, "") for path in paths}
        return paths

    def _with_progress(self, stream: Iterable[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
        """Yield the records, and report their number to the caller on the way."""
        number = 0
        for number, record in enumerate(stream, start=1):
            if number % REPORTED_EVERY == 0:
                self._counted(REPORTED_EVERY)
            yield record
        self._counted(number % REPORTED_EVERY)

    def _randomness(self, stream: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self.recipe.seed, spawn_key=(stream,)))


def built_parties(recipe: Recipe, counts: Mapping[str, Counter[str]]) -> list[BuiltParty]:
    """Return the number of users that each party got, and the number it asked for."""
    asked: dict[str, int | None] = {party.name: party.users for party in recipe.parties}
    asked.update(recipe.split)
    return [BuiltParty(name, held.total(), len(held), asked[name]) for name, held in counts.items()]


def histogram_table(counts: Mapping[str, Counter[str]], checksums: Mapping[str, str], seed: int) -> pa.Table:
    """Return histograms as a table, sorted by party and falling users; checksums and seed are its metadata."""
    rows: list[dict[str, Any]] = []
    for party, held in counts.items():
        if not held:
            raise InvalidInput("party_empty", party=party)
        ordered = sorted(held.items(), key=lambda counted: (-counted[1], counted[0]))
        rows += [{"party": party, "item": item, "users": users} for item, users in ordered]
    metadata = {"seed": str(seed), **{f"sha256 {Path(path).name}": digest for path, digest in checksums.items()}}
    schema = pa.schema([("party", pa.string()), ("item", pa.string()), ("users", pa.int64())], metadata=metadata)
    return pa.Table.from_pylist(rows, schema=schema)
