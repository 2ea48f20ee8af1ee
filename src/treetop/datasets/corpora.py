"""Corpora as histograms: downloads that resume and are checked, records of any format, one random item of each user."""

import bz2
import csv
import gzip
import json
import lzma
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from hashlib import file_digest
from html import unescape
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, cast
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from numpy.random import Generator

from treetop.datasets.party_split import deal
from treetop.datasets.table_files.limits import MAX_ROW
from treetop.errors import InvalidInput
from treetop.public_text import shown_address
from treetop.secret_files import open_own

BLOCK = 1 << 20
PATIENCE = 60.0
"""Seconds that a server may stay silent."""
RANGE_NOT_SATISFIABLE = 416
PARTIAL = 206

Progress = Callable[[int, int | None], None]
"""Called with the bytes so far, and with the total where it is known."""


def fetch(url: str, folder: Path, sha256: str = "", progress: Progress = lambda _done, _total: None) -> Path:
    """Download a file into a folder, resume a partial download, and check it.

    The file gets its name only when it is whole and passes the checksum, if there is one.
    """
    target = folder / file_name(url)
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(target.name + ".partial")
        try:
            with open_own(partial) as file:
                _go_on(url, file, progress)
        except (OSError, HTTPException) as reason:
            raise InvalidInput("download_stopped", url=shown_address(url), reason=reason) from None
        check(partial, sha256)
        os.replace(partial, target)
    else:
        check(target, sha256)
    return target


def file_name(url: str) -> str:
    """Return the last part of an address; only the web's schemes are fetched."""
    parts = urlsplit(url)
    name = unquote(parts.path).rpartition("/")[2]
    if parts.scheme not in ("http", "https") or not name or name in (".", ".."):
        raise InvalidInput("download_address", url=shown_address(url))
    return name


def _go_on(url: str, file: IO[bytes], progress: Progress) -> None:
    """Ask for the bytes that are missing; a server that knows no ranges sends all of them again."""
    have = file.seek(0, os.SEEK_END)
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        response = cast(HTTPResponse, urlopen(Request(url, headers=headers), timeout=PATIENCE))  # noqa: S310  http only
    except HTTPError as refusal:
        with refusal:  # the error holds the open response
            if have and refusal.code == RANGE_NOT_SATISFIABLE:
                return  # everything was there already; the checksum decides
            raise
    with response:
        start = have if response.status == PARTIAL else 0
        length = response.getheader("Content-Length")
        total = start + int(length) if length else None
        file.truncate(start)
        file.seek(start)
        while block := response.read(BLOCK):
            file.write(block)
            progress(file.tell(), total)
    if total is not None and file.tell() < total:
        raise OSError(f"{file.tell():,} of {total:,} bytes arrived")


def check(path: Path, sha256: str) -> str:
    """Return a file's checksum, and refuse a file that is not the one asked for."""
    with path.open("rb") as file:
        found = file_digest(file, "sha256").hexdigest()
    if sha256 and found != sha256.lower():
        raise InvalidInput("download_checksum", path=path, sha256=sha256, found=found)
    return found


OPENERS = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
FORMATS = (".txt", ".csv", ".tsv", ".jsonl")
LONGEST_FIELD = 1 << 27
"""The csv module's own limit is 128 KiB; `MAX_ROW` bounds the memory."""


def records(paths: Iterable[Path], columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the wanted columns of every record of some files; a line of a .txt file is one record."""
    for path in paths:
        yield from _records_of(path, columns)


def _records_of(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    ending = _format(path)
    try:
        with _open(path) as file:
            lines = _lines(path, file)
            if ending == ".txt":
                yield from ((line.rstrip("\r\n"),) for line in lines)
            elif ending == ".jsonl":
                yield from _from_json(path, lines, columns)
            else:
                yield from _from_columns(path, lines, columns, "\t" if ending == ".tsv" else ",")
    except (OSError, EOFError, UnicodeDecodeError, lzma.LZMAError, csv.Error) as reason:
        raise InvalidInput("corpus_unreadable", path=path, ending=ending, reason=reason) from None


def _format(path: Path) -> str:
    plain = path.with_suffix("") if path.suffix.lower() in OPENERS else path
    ending = plain.suffix.lower()
    if ending not in FORMATS:
        raise InvalidInput("corpus_ending", path=path, formats=", ".join(FORMATS), none=ending or "(none)")
    return ending


def _open(path: Path) -> IO[str]:
    if not path.is_file():
        raise InvalidInput("corpus_not_found", path=path)
    opener = OPENERS.get(path.suffix.lower())
    if opener is None:
        return path.open(encoding="utf-8", newline="")
    return opener(path, "rt", encoding="utf-8", newline="")  # type: ignore[operator,no-any-return]


def _lines(path: Path, file: IO[str]) -> Iterator[str]:
    """Yield the lines of a file, none longer than `MAX_ROW`: a compressed file of one line could fill the memory."""
    while line := file.readline(MAX_ROW + 1):
        if len(line) > MAX_ROW:
            raise InvalidInput("row_too_long", source=str(path), most=MAX_ROW)
        yield line


def _from_json(path: Path, lines: Iterable[str], columns: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for number, line in enumerate(lines, start=1):
        try:
            record = json.loads(line)
            yield tuple(str(record[column]) for column in columns)
        except (ValueError, KeyError, TypeError, RecursionError):
            wanted = ", ".join(columns)
            raise InvalidInput("corpus_line_malformed", path=path, number=number, wanted=wanted) from None


def _from_columns(
    path: Path, lines: Iterable[str], columns: Sequence[str], delimiter: str
) -> Iterator[tuple[str, ...]]:
    csv.field_size_limit(LONGEST_FIELD)
    quoted = delimiter != "\t"
    reader = csv.DictReader(lines, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE)
    found = reader.fieldnames or []
    for column in columns:
        if column not in found:
            raise InvalidInput("corpus_column_missing", path=path, column=column, none=", ".join(found) or "none")
    for row in reader:
        yield tuple(row[column] or "" for column in columns)


SHORTEST = 3
"""Letters of a word."""
LONGEST = 20
"""Letters of a word."""
NOT_WORDS = re.compile(r"https?://\S+|www\.\S+|@\w+|<[^<>]*>")
APOSTROPHES = re.compile("['’`]")
LETTERS = re.compile("[a-z]+")


def words(record: str) -> list[str]:
    """Return the words of a record in order.

    Lower case; addresses, mentions and tags removed; apostrophes deleted; runs of a to z of 3 to 20 letters.
    """
    text = APOSTROPHES.sub("", NOT_WORDS.sub(" ", unescape(record)).lower())
    return [word for word in LETTERS.findall(text) if SHORTEST <= len(word) <= LONGEST]


def one_word_each(records: Iterable[str], randomness: Generator, *, distinct: bool = True) -> Iterator[str]:
    """Yield one random word of each record that has one; a repeated word counts once if `distinct`."""
    for record in records:
        found = words(record)
        choices = list(dict.fromkeys(found)) if distinct else found
        if choices:
            yield choices[int(randomness.integers(len(choices)))]


def sample(items: Iterable[str], size: int | None, randomness: Generator) -> Counter[str]:
    """Count items, or a random sample of them without replacement, holding no more than the sample.

    This is reservoir sampling (Vitter's algorithm R): the n-th item enters with probability size / n.
    """
    if size is None:
        return Counter(items)
    kept: list[str] = []
    for index, item in enumerate(items):
        if index < size:
            kept.append(item)
        elif (slot := int(randomness.integers(index + 1))) < size:
            kept[slot] = item
    return Counter(kept)


def one_item_each(clicks: Iterable[tuple[str, str]], randomness: Generator) -> list[str]:
    """Return one random distinct item of every user, in the order in which users first click."""
    seen: dict[str, list[str]] = {}
    for user, item in clicks:
        held = seen.setdefault(user, [])
        if item not in held:
            held.append(item)
    return [held[int(randomness.integers(len(held)))] for held in seen.values()]


def every_click(clicks: Iterable[tuple[str, ...]]) -> Iterator[str]:
    """Yield the item of every click: each click is a user."""
    return (click[0] for click in clicks)


def dealt_to_parties(items: Iterable[str], sizes: Mapping[str, int], randomness: Generator) -> dict[str, Counter[str]]:
    """Deal the users of one log to parties at random, to each the number that it asks for."""
    listed = list(items)
    indices = deal(len(listed), sizes, randomness)
    counts = {name: Counter[str]() for name in sizes}
    names = list(sizes)
    for item, index in zip(listed, indices.tolist(), strict=True):
        if index >= 0:
            counts[names[index]][item] += 1
    return counts
