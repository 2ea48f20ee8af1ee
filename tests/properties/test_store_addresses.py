"""No typo of a store's address shows its password or makes a file of that name (R16)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from treetop.adapters.store_choice import StoreLocation, open_stores
from treetop.errors import TreetopError
from treetop.toml_files import Source

CANARY = "Xq7Zw9Kv3J"
ADDRESS = f"postgresql://alice:{CANARY}@db.example:5432/treetop?sslmode=require"
SIGNS = ":/@?#,;&=%[] .\\'\"-" + "x5"
PIECES = {CANARY[start : start + 5] for start in range(len(CANARY) - 4)}


@pytest.fixture(autouse=True, scope="module")
def talkative() -> Iterator[None]:
    """A database that does not answer, and a library that tells all it was given."""

    def refuse(address: str, **_: Any) -> None:
        raise psycopg.OperationalError(f"connection failed: {conninfo_to_dict(address)}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg, "connect", refuse)
        yield


def typos(text: str) -> Iterator[str]:
    """Every address that is one slip away: a sign left out, another one, one too many, two exchanged, cut short."""
    for place in range(len(text) + 1):
        before, after = text[:place], text[place:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
        yield after
        for sign in SIGNS:
            yield before + sign + after[1:]
            yield before + sign + after


def told(where: str, folder: Path) -> str:
    """Open a store and return everything that is said, by settings and by the store itself."""
    said = ""
    for attempt in (
        lambda: StoreLocation.from_file(where, Source(folder)),
        lambda: StoreLocation(where),
        lambda: open_stores(where),
    ):
        try:
            found = attempt()
        except TreetopError as error:
            said += f"{error} {error!r} {error.__cause__} {error.__context__ if not error.__suppress_context__ else ''}"
        else:
            said += f"{found} {found!r}"
            assert isinstance(found, StoreLocation), f"a file was made of {where}"
    return said


def check(where: str, folder: Path) -> None:
    said = told(where, folder)
    assert not any(piece in said for piece in PIECES), (where, said)
    assert list(folder.iterdir()) == []


def test_no_single_typo_shows_the_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for where in sorted(set(typos(ADDRESS)) - {""}):
        if CANARY in where or "postgres" in where:
            check(where, tmp_path)
