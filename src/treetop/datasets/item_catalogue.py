"""Catalogues and word lists: the items that are known before anybody is asked."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from treetop.datasets.loading import checked_table, read_table
from treetop.encoding.normalisation import normalised
from treetop.errors import InvalidInput


@dataclass(frozen=True)
class ItemCatalogue:
    """Distinct items, the most popular first where the list is `ordered`, else as they were listed."""

    items: tuple[str, ...]
    notes: tuple[str, ...] = ()
    ordered: bool = False
    """Whether an item that stands earlier is known to be more popular."""
    source: str = "the list that was given"
    """Where the items come from, for the reader of an answer."""

    @classmethod
    def of(cls, listed: Iterable[object]) -> "ItemCatalogue":
        """Take every item once, and say how often that made a difference."""
        if isinstance(listed, str):
            raise InvalidInput(f"a catalogue or word list must be a list of items, found the text {listed[:40]!r}")
        named = [str(item) for item in listed]
        items = tuple(dict.fromkeys(item for item in named if item))
        if not items:
            raise InvalidInput("a catalogue or word list needs one item at least, found none")
        repeated = len(named) - named.count("") - len(items)
        notes = (f"the catalogue names {repeated:,} items again: each counts once",) if repeated else ()
        return cls(items, notes)

    def normalised(self, steps: Collection[str]) -> "ItemCatalogue":
        """Return the normalised items, and say how many became the same as one before them, whose place they share."""
        items = tuple(dict.fromkeys(normalised(item, steps) for item in self.items))
        merged = len(self.items) - len(items)
        note = f"normalised alike ({', '.join(steps)}): {self.source}; {merged:,} of its items were merged with others"
        return replace(self, items=items, notes=(*self.notes, note))

    def by_hash(self, hash_of: Callable[[bytes], int]) -> dict[int, tuple[bytes, ...]]:
        """Return what every hash may stand for: its likeliest item, or all of its items if the list has no order."""
        found: dict[int, tuple[bytes, ...]] = {}
        for item in self.items:
            text = item.encode("utf-8", errors="surrogatepass")
            code = hash_of(text)
            if not self.ordered or code not in found:
                found[code] = (*found.get(code, ()), text)
        return found


def load_catalogue(path: str | Path) -> ItemCatalogue:
    """Read a catalogue: one item per line in a .txt file, or the column `item` of a CSV or Parquet file."""
    path = Path(path)
    try:
        items = lines_of(path) if path.suffix.lower() == ".txt" else _column(path)
        return replace(ItemCatalogue.of(items), source=path.name)
    except InvalidInput as refusal:
        raise InvalidInput(f"{path}: {refusal}" if str(path) not in str(refusal) else str(refusal)) from None


def lines_of(path: Path) -> list[str]:
    """Read the lines of a text file, without the white space around them."""
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
