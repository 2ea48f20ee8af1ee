"""No typo of a store's address shows its password or makes a file of that name (R16)."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from treetop.adapters.store_choice import StoreLocation, open_stores
from treetop.errors import InvalidInput, StoreUnavailable, TreetopError
from treetop.toml_files import Source

CANARY = "Xq7Zw9Kv3J"
ADDRESSES = (
    f"postgresql://alice:{CANARY}@db.example:5432/treetop?sslmode=require",
    f"postgresql://alice:{CANARY}@localhost/treetop",
    f"postgresql://alice@localhost/treetop?password={CANARY}",
)
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
    """Every address that is one slip away: a sign left out, another one, one too many, two exchanged."""
    for place in range(len(text) + 1):
        before, after = text[:place], text[place:]
        yield before + after[1:]
        yield before + after[1:2] + after[:1] + after[2:]
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


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_single_typo_shows_the_password(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for where in sorted(set(typos(address))):
        check(where, tmp_path)


@pytest.mark.parametrize("address", ADDRESSES)
def test_no_pair_of_typos_shows_the_password(address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A random sample of the millions."""
    monkeypatch.chdir(tmp_path)
    chance = random.Random(1)  # noqa: S311  typos, not secrets
    for first in chance.sample(sorted(set(typos(address))), 300):
        for where in chance.sample(sorted(set(typos(first))), 5):
            check(where, tmp_path)


@pytest.mark.parametrize(
    "where",
    [
        f"postgres//alice:{CANARY}@host/db",
        f"postgresq://alice:{CANARY}@host/db",
        f"postgresql:/alice:{CANARY}@host/db",
        f"postgresql:alice:{CANARY}@host/db",
        f"POSTGRESQL://alice:{CANARY}@host/db",
        f"alice:{CANARY}@host/db",
        f"postgresql://alice:{CANARY}/x@host/db",
        f"postgresql://alice:1{CANARY}/@host",
        f"mysql://alice:{CANARY}@host/db",
        f"postgresql://alice:%ff{CANARY}@host/db",
        f"postgresql://alice:{CANARY}@x@host/db",
        f"postgresql://alice:{CANARY}#@host/db",
        f"{CANARY}@host:5432/db",
        f"postgresql://alice:{CANARY}@host:port/db",
        f" postgresql://alice:{CANARY}@host/db",
        f"postgresql//{CANARY}@h/d",
        f"postgresql://alice:{CANARY}@host/db?sslmod=require",
        f"postgresql://alice@host/db?pasword={CANARY}",
        f"host=h user=alice password={CANARY}",
        f"file:alice:{CANARY}@host?mode=rw",
        f"postgresql://alice:{CANARY}é@h/d",
    ],
)
def test_what_people_mistype_is_refused(where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput):
        open_stores(where)
    check(where, tmp_path)


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        ("postgresql:///treetop", "postgresql:///treetop"),
        ("postgres://alice:a%40b:c,d@[::1]:5433/treetop?sslmode=require&application_name=x", "postgresql://[::1]:5433/treetop"),
        ("postgresql://alice@one:1,two:2/treetop", "postgresql://one:1,two:2/treetop"),
        ("postgresql://postgres:@/postgres?host=/tmp/x&options=-csearch_path%3Dstore", "postgresql:///postgres"),
    ],
)  # fmt: skip
def test_good_addresses_are_shown_without_credentials(where: str, shown: str) -> None:
    location = StoreLocation(where)
    assert (location.address is not None, str(location)) == (True, shown)
    assert "alice" not in repr(location)
    with pytest.raises(StoreUnavailable) as failure:
        open_stores(where)
    assert "alice" not in str(failure.value)


@pytest.mark.parametrize(
    "path", ["data/party.db", "/home/jo@corp.example/party.db", "C 3/ä.db", "data//party.db", "a:b.db"]
)
def test_paths_stay_paths(path: str) -> None:
    assert (StoreLocation(path).address, str(StoreLocation(path))) == (None, path)
