"""Files of catalogues: the items that are known before anybody is asked."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from treetop.datasets.columns import text_column
from treetop.datasets.table_files.delimited import decoded_lines
from treetop.datasets.table_files.reader import EXPECTED, read_table
from treetop.encoding.listed_items import ItemCatalogue
from treetop.errors import InvalidInput


def load_catalogue(path: str | Path) -> ItemCatalogue:
    """Read a catalogue: one item per line in a .txt file, or the column `item` of a table."""
    path = Path(path)
    try:
        items = lines_of(path) if path.suffix.lower() == ".txt" or not path.exists() else _column(path)
        return replace(ItemCatalogue.of(items), source=path.name)
    except InvalidInput as refusal:
        raise InvalidInput("list_file_refused", refusal=with_path(path, str(refusal))) from None


def with_path(path: Path, refusal: str) -> str:
    """Return what is wrong with a file, which names it as whoever asked did."""
    return refusal if str(path) in refusal else f"{path}: {refusal.removeprefix(f'{path.name}: ')}"


def catalogue_of(given: ItemCatalogue | Iterable[object] | str | Path | None) -> ItemCatalogue | None:
    """Take a catalogue, items, or a file of them."""
    if given is None or isinstance(given, ItemCatalogue):
        return given
    return load_catalogue(given) if isinstance(given, str | Path) else ItemCatalogue.of(given)


def lines_of(path: Path) -> list[str]:
    """Read the lines of a text file, without the white space around them."""
    if not path.is_file():
        raise InvalidInput("list_file_missing", expected=EXPECTED, folder=path.is_dir())
    return [line.strip() for line in decoded_lines(path)]


def _column(path: Path) -> list[str]:
    read = read_table(path)
    if "item" not in read.table.column_names:
        found = ", ".join(read.table.column_names) or "no columns"
        raise InvalidInput("item_column_missing", path=path, found=found)
    return text_column(read.source, "item", read.table["item"])
