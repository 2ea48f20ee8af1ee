"""Lists of items that are known before anybody is asked: catalogues to count, and words that a hash is read by.

A word list decides between words that share a hash if it knows their popularity: from a column of its table, from
frequencies, or because the caller declares that it is in that order. Every other list counts as unordered.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa

from treetop.datasets.columns import popularities, text_column
from treetop.datasets.table_files.reader import EXPECTED, read_table
from treetop.datasets.table_files.text_tables import decoded_lines
from treetop.encoding.item_codecs import ItemCatalogue
from treetop.errors import InvalidInput, UnknownName
from treetop.extras import needed_for

POPULARITY = "popularity"
NO_ORDER = "none"
ORDERS = (POPULARITY, NO_ORDER)
WORD_COLUMNS = ("word", "item")
POPULARITY_COLUMNS = ("frequency", "users", "count")
"""The first of these that a table has ranks its words."""
PUBLIC = "wordfreq:"
DEFAULT_WORDS = 50_000
_PUBLIC_LIST = re.compile(r"wordfreq:(?P<language>[^:]+)(:(?P<words>[1-9][0-9]{0,8}))?")

Words = ItemCatalogue | Mapping[str, float] | Iterable[object] | str | Path


def load_catalogue(path: str | Path) -> ItemCatalogue:
    """Read a catalogue: one item per line in a .txt file, or the column `item` of a table."""
    path = Path(path)
    try:
        if path.suffix.lower() == ".txt" or not path.exists():
            items = lines_of(path)
        else:
            read = read_table(path)
            if "item" not in read.table.column_names:
                found = ", ".join(read.table.column_names) or "no columns"
                raise InvalidInput("item_column_missing", path=path, found=found)
            items = text_column(read.source, "item", read.table["item"])
        return replace(ItemCatalogue.of(items), source=path.name)
    except InvalidInput as refusal:
        raise InvalidInput("list_file_refused", refusal=with_path(path, str(refusal))) from None


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


def with_path(path: Path, refusal: str) -> str:
    """Return a refusal that names the file by the path that the caller gave."""
    return refusal if str(path) in refusal else f"{path}: {refusal.removeprefix(f'{path.name}: ')}"


def word_list_of(given: Words | None, order: str | None = None) -> ItemCatalogue | None:
    """Take words, {word: frequency}, a file, or `wordfreq:LANGUAGE[:NUMBER]`; `order` is that of a plain list."""
    if order is not None and order not in ORDERS:
        raise UnknownName("order of a word list", order, ORDERS)
    if given is None:
        if order is not None:
            raise InvalidInput("word_list_order_alone", order=order)
        return None
    if isinstance(given, ItemCatalogue):
        return given
    if isinstance(given, Mapping):
        return _rank_mapping(given)
    if isinstance(given, str) and given.startswith(PUBLIC):
        return _public_list(given)
    if isinstance(given, str | Path):
        return _read(Path(given), order == POPULARITY)
    return replace(ItemCatalogue.of(given), notes=(), ordered=order == POPULARITY)


def _rank_mapping(given: Mapping[str, float]) -> ItemCatalogue:
    """Rank words by their frequencies."""
    try:
        ranks = pa.chunked_array([pa.array(map(float, given.values()), pa.float64())])
    except (TypeError, ValueError) as reason:
        raise InvalidInput("word_list_frequencies", reason=reason) from None
    ranked = _ranked(list(map(str, given)), popularities("word list", "frequency", ranks), "")
    return replace(ranked, source="the frequencies that were given")


def _read(path: Path, in_order: bool) -> ItemCatalogue:
    """Read words: the lines of a .txt file, or the column `word` or `item` of a table, ranked by its frequencies."""
    try:
        if path.suffix.lower() == ".txt":
            words = lines_of(path)
            ranks = None
        else:
            words, ranks = _columns(path.name, read_table(path).table)
        if ranks is not None:
            return _ranked(words, ranks[1], f"{path.name}, ranked by its column {ranks[0]!r}")
        return replace(ItemCatalogue.of(words), notes=(), ordered=in_order, source=path.name)
    except InvalidInput as refusal:
        if not path.exists():
            expected = "a word list must be a list of items, a .txt file, a table or wordfreq:LANGUAGE"
            raise InvalidInput("word_list_unknown", expected=expected, path=str(path), refusal=refusal) from None
        raise InvalidInput("list_file_refused", refusal=with_path(path, str(refusal))) from None


def _columns(source: str, table: pa.Table) -> tuple[list[str], tuple[str, list[float]] | None]:
    """Return the words of a table, and the name and the values of the column that ranks them, if there is one."""
    named = [column for column in WORD_COLUMNS if column in table.column_names]
    if not named:
        found = ", ".join(table.column_names) or "no columns"
        raise InvalidInput("word_column_missing", source=source, found=found)
    words = text_column(source, named[0], table[named[0]])
    for column in POPULARITY_COLUMNS:
        if column in table.column_names:
            return words, (column, popularities(source, column, table[column]))
    return words, None


def _ranked(words: list[str], ranks: list[float], source: str) -> ItemCatalogue:
    """Put the most popular word first, equal ones in their order; the numbers of a repeated word are added up."""
    total: dict[str, float] = {}
    for word, rank in zip(words, ranks, strict=True):
        total[word] = total.get(word, 0.0) + rank
    by_rank = sorted(total.items(), key=lambda pair: -pair[1])
    ordered = ItemCatalogue.of(word for word, _ in by_rank)
    return replace(ordered, ordered=True, source=source)


def _public_list(name: str) -> ItemCatalogue:
    """Return the most common words of a language, as the package wordfreq counted them in public texts."""
    asked = _PUBLIC_LIST.fullmatch(name)
    if asked is None:
        raise InvalidInput("wordfreq_malformed", name=name)
    with needed_for(name, "words"):
        wordfreq = import_module("wordfreq")
    known = sorted(wordfreq.available_languages())
    if asked["language"] not in known:
        raise UnknownName("language of wordfreq", asked["language"], known)
    words: list[str] = wordfreq.top_n_list(asked["language"], int(asked["words"] or DEFAULT_WORDS))
    source = f"the public list wordfreq:{asked['language']} (wordfreq {version('wordfreq')})"
    return replace(ItemCatalogue.of(words), ordered=True, source=source)
