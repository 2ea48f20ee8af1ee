"""Corpora that the user fetches: resumed where they stopped, checked, and whole or not there."""

import os
from collections.abc import Callable
from hashlib import file_digest
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import IO, cast
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit
from urllib.request import Request, urlopen

from treetop.errors import InvalidInput
from treetop.public_text import shown_address
from treetop.secret_files import open_own

BLOCK = 1 << 20
PATIENCE = 60.0
RANGE_NOT_SATISFIABLE = 416
PARTIAL = 206

Progress = Callable[[int, int | None], None]
"""Hears of bytes so far, and of all bytes where they are known."""


def fetch(url: str, folder: Path, sha256: str = "", progress: Progress = lambda _done, _total: None) -> Path:
    """Download a file into a folder, go on with a part that is there, and check it."""
    target = folder / file_name(url)
    if not target.exists():
        folder.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(target.name + ".partial")
        try:
            _download(url, partial, progress)
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


def _download(url: str, partial: Path, progress: Progress) -> None:
    with open_own(partial) as file:
        _go_on(url, file, progress)


def _go_on(url: str, file: IO[bytes], progress: Progress) -> None:
    have = file.seek(0, os.SEEK_END)
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        response = cast(HTTPResponse, urlopen(Request(url, headers=headers), timeout=PATIENCE))  # noqa: S310  http only
    except HTTPError as refusal:
        with refusal:  # it is the answer, too
            if have and refusal.code == RANGE_NOT_SATISFIABLE:
                return  # everything was there already; the checksum decides
            raise
    with response:
        start = have if response.status == PARTIAL else 0
        _append(response, file, start, progress)


def _append(response: HTTPResponse, file: IO[bytes], start: int, progress: Progress) -> None:
    """Write the answer behind the part that it goes on from; a server that knows no ranges starts anew."""
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
