"""A query whose server is stopped in the middle and taken up by another version: its journal, and all that was said.

`python -m tests.support.recorded_server FOLDER`, run with the older version's source and tests, records both.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.support.federations import Federation, crowd, naming, order
from tests.support.journals import Crash

from treetop.adapters.memory.ports import MemoryChannel
from treetop.adapters.store_choice import open_stores
from treetop.federation.service_ports import Journal
from treetop.federation.wire.item_lists import ItemList

HOLDERS = {"a": {"ab": 500, "cd": 250, "ef": 150}, "b": {"ef": 400, "ab": 300}, "c": {"cd": 300, "xy": 200}}
QUERIES = ("taps", "panorama")
"""One that asks devices in rounds, and one that has a list and reads texts: together every message that there is."""
STOPPED_AT = {"taps": 30, "panorama": 6}
"""Writes of the journal, about half of them."""


class SameBytes:
    """The server's randomness: what it draws again after a crash is what it drew before."""

    def read(self, count: int) -> bytes:
        return b"\7" * count


def federation(query: str) -> Federation:
    if query == "panorama":
        settings = {"bits": 10, "text_chunks": 1, "text_share": 0.4}
        asked = naming(HOLDERS, word_list=ItemList(("ab", "cd")), epsilon="2", settings=settings)
    else:
        asked = Federation.of(order("taps", "rounds", "abc", epsilon="2"), crowd({"a": 900, "b": 700, "c": 500}))
    asked.entropy = SameBytes()
    return asked


class Noted:
    """A way to a party that notes what the server says and what it hears."""

    def __init__(self, behind: MemoryChannel) -> None:
        self._behind = behind
        self.said: dict[str, str] = {}

    def install(self, document: bytes) -> None:
        self.said["task"] = document.hex()
        self._behind.install(document)

    def give_list(self, task: bytes, document: bytes) -> None:
        self.said["list"] = document.hex()
        self._behind.give_list(task, document)

    def tell(self, task: bytes, number: int, message: bytes) -> None:
        self.said[f"message {number}"] = message.decode()
        self._behind.tell(task, number, message)

    def outcome(self, task: bytes, number: int) -> bytes | None:
        found = self._behind.outcome(task, number)
        if found is not None:
            self.said[f"outcome {number}"] = found.decode()
        return found

    def close(self) -> None:
        self._behind.close()


class Stopping:
    """A journal on disk whose process ends after so many writes."""

    def __init__(self, behind: Journal, writes: int) -> None:
        self._behind, self.left = behind, writes

    def write(self, book: str, entry: str, content: bytes) -> bytes:
        kept = self._behind.write(book, entry, content)
        self.left -= 1
        if not self.left:
            raise Crash(entry)
        return kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._behind, name)


def conversation(query: str) -> tuple[dict[str, dict[str, str]], bytes]:
    """Run a whole query; return what was said with every party, and the result."""
    asked = federation(query)
    noted = {name: Noted(channel) for name, channel in asked.channels.items()}
    asked.channels = dict(noted)
    return {name: channel.said for name, channel in noted.items()}, asked.query().run().document


def stopped(query: str, store: Path) -> None:
    """Leave the journal of a server that ended in the middle of a query."""
    reports, journal = open_stores(str(store))
    asked: Any = federation(query)
    asked.journal = Stopping(journal, STOPPED_AT[query])
    try:
        asked.query().run()
    except Crash:
        reports.close()
        return
    raise AssertionError(f"{query}: the query was over after {STOPPED_AT[query] - asked.journal.left} writes")


def recorded(folder: Path, query: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = json.loads((folder / f"{query}.json").read_text())
    return found


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir()
    for each in QUERIES:
        said, result = conversation(each)
        text = json.dumps({"said": said, "result": json.loads(result)}, indent=1, sort_keys=True)
        (target / f"{each}.json").write_text(text + "\n")
        stopped(each, target / f"{each}.db")
    for leftover in target.glob("*.db[-.]*"):
        leftover.unlink()
