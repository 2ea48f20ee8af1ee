"""Files of catalogues: the items that are known before anybody is asked."""

from dataclasses import replace
from pathlib import Path

from treetop.datasets.loading import checked_table, read_table
from treetop.encoding.listed_items import ItemCatalogue
from treetop.errors import InvalidInput


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
