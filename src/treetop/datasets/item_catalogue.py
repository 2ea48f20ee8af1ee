"""Catalogues: the items that are known before anybody is asked."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from treetop.datasets.loading import checked_table, read_table
from treetop.errors import InvalidInput


@dataclass(frozen=True)
class ItemCatalogue:
    """Distinct items in the order in which they were listed."""

    items: tuple[str, ...]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, listed: Iterable[object]) -> "ItemCatalogue":
        """Take every item once, and say how often that made a difference."""
        if isinstance(listed, str):
            raise InvalidInput(f"a catalogue must be a list of items, found the text {listed[:40]!r}")
        named = [str(item) for item in listed]
        items = tuple(dict.fromkeys(item for item in named if item))
        if not items:
            raise InvalidInput("a catalogue needs one item at least, found none")
        repeated = len(named) - named.count("") - len(items)
        notes = (f"the catalogue names {repeated:,} items again: each counts once",) if repeated else ()
        return cls(items, notes)


def load_catalogue(path: str | Path) -> ItemCatalogue:
    """Read a catalogue: one item per line in a .txt file, or the column `item` of a CSV or Parquet file."""
    path = Path(path)
    try:
        return ItemCatalogue.of(_lines(path) if path.suffix.lower() == ".txt" else _column(path))
    except InvalidInput as refusal:
        raise InvalidInput(f"{path}: {refusal}" if str(path) not in str(refusal) else str(refusal)) from None


def _lines(path: Path) -> list[str]:
    if not path.is_file():
        raise InvalidInput("expected a .txt, .csv or .parquet file, found " + ("a folder" if path.is_dir() else "none"))
    try:
        return [line.strip() for line in path.read_text(encoding="utf-8-sig").splitlines()]
    except UnicodeDecodeError:
        raise InvalidInput("expected text in UTF-8, found other bytes") from None


def _column(path: Path) -> list[str]:
    if path.suffix.lower() not in (".csv", ".parquet"):
        raise InvalidInput(f"expected a .txt, .csv or .parquet file, found the ending {path.suffix or '(none)'!r}")
    table, _ = checked_table(path.name, read_table(path))
    items: list[str] = table["item"].to_pylist()
    return items
