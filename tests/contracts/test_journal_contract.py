"""What every journal must do: an entry is written once, and is there again after a restart."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.databases import PLACES, Place, place_called
from tests.support.hostile_texts import BEYOND_THE_BMP, MARKUP


@pytest.fixture(params=PLACES)
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    found = place_called(request.param, tmp_path, request)
    yield found
    found.close()


def test_an_entry_is_written_once(place: Place) -> None:
    assert place.journal.write("query", "beacon", b"one") == b"one"
    assert place.journal.write("query", "beacon", b"two") == b"one"
    place.reopen()
    assert place.journal.write("query", "beacon", b"three") == b"one"
    assert place.journal.read("query") == {"beacon": b"one"}


def test_entries_stay_in_the_order_they_were_written(place: Place) -> None:
    names = ["zebra", "apple", "message 10", "message 9", "ä", ""]
    for number, name in enumerate(names):
        place.journal.write("query", name, bytes([number]))
    place.reopen()
    place.journal.write("query", "last", b"")
    assert list(place.journal.read("query")) == [*names, "last"]
    assert list(place.journal.read("query").values()) == [*(bytes([number]) for number in range(6)), b""]


def test_books_are_apart_and_in_order(place: Place) -> None:
    assert list(place.journal.books()) == []
    place.journal.write("second", "entry", b"2")
    place.journal.write("first", "entry", b"1")
    place.journal.write("second", "more", b"3")
    place.reopen()
    assert list(place.journal.books()) == ["second", "first"]
    assert place.journal.read("first") == {"entry": b"1"}
    assert place.journal.read("nowhere") == {}
    assert list(place.journal.books()) == ["second", "first"]


def test_one_entry_is_read_alone(place: Place) -> None:
    place.journal.write("query", "one", b"1")
    place.journal.write("query", "empty", b"")
    place.reopen()
    assert place.journal.get("query", "one") == b"1"
    assert place.journal.get("query", "empty") == b""
    assert place.journal.get("query", "two") is None
    assert place.journal.get("nowhere", "one") is None
    place.journal.write("query", "two", b"2")
    assert place.journal.get("query", "two") == b"2"
    assert list(place.journal.books()) == ["query"]


def test_what_was_read_does_not_change_behind_the_reader(place: Place) -> None:
    place.journal.write("query", "one", b"1")
    before = place.journal.read("query")
    place.journal.write("query", "two", b"2")
    assert list(before) == ["one"]


def test_large_entries_come_back_whole(place: Place) -> None:
    large = bytes(range(256)) * 8192
    place.journal.write("query", "large", large)
    place.reopen()
    assert place.journal.read("query")["large"] == large


def test_threads_that_write_the_same_entry_agree(place: Place) -> None:
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda number: place.journal.write("query", "one", bytes([number])), range(20)))
    assert len(set(told)) == 1
    assert place.journal.read("query") == {"one": told[0]}


def test_books_and_entries_may_be_called_what_people_can_read(place: Place) -> None:
    for name in (*BEYOND_THE_BMP, *MARKUP):
        place.journal.write(f"party:{name}:00", f"outcome:{name}:1", name.encode())
    place.reopen()
    for name in (*BEYOND_THE_BMP, *MARKUP):
        assert place.journal.read(f"party:{name}:00") == {f"outcome:{name}:1": name.encode()}
