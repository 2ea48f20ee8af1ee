"""R18: a query that a server of another version has begun is gone on with: the same messages, the same result.

Journals and conversations were recorded with version 0.1.0 of the source as it was before campaigns
(`tests/support/recorded_server.py`).
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.support.recorded_server import QUERIES, STOPPED_AT, Stopping, conversation, federation, recorded

from treetop.adapters.store_choice import open_stores

RECORDED = Path(__file__).parents[3] / "recorded" / "server_of_0_1_0"
EACH = pytest.mark.parametrize("query", QUERIES)


class OlderParty:
    """A party of the older version: it has answered everything already, and takes nothing but what it was told then."""

    def __init__(self, said: dict[str, str]) -> None:
        self._said = said
        self.heard: list[str] = []

    def _hear(self, name: str, content: str) -> None:
        assert content == self._said[name], name
        self.heard.append(name)

    def install(self, document: bytes) -> None:
        self._hear("task", document.hex())

    def give_list(self, task: bytes, document: bytes) -> None:
        self._hear("list", document.hex())

    def tell(self, task: bytes, number: int, message: bytes) -> None:
        self._hear(f"message {number}", message.decode())

    def outcome(self, task: bytes, number: int) -> bytes:
        return self._said[f"outcome {number}"].encode()

    def close(self) -> None:
        pass


def older_parties(query: str) -> dict[str, OlderParty]:
    return {name: OlderParty(said) for name, said in recorded(RECORDED, query)["said"].items()}


def as_it_was(document: bytes) -> Any:
    """Return a result without what has been added to results since, and with a sentence as it was."""
    content = json.loads(document)
    content["choices"] = [line.replace("at most about", "about") for line in content["choices"]]
    for row in content["items"]:
        del row["by_party"]
    return content


@EACH
def test_an_older_servers_journal_goes_on_to_the_same_result(query: str, tmp_path: Path) -> None:
    shutil.copy(RECORDED / f"{query}.db", tmp_path / "server.db")
    (tmp_path / "server.db").chmod(0o600)
    store, journal = open_stores(str(tmp_path / "server.db"))
    asked: Any = federation(query)
    asked.journal, asked.channels = journal, older_parties(query)
    result = asked.query().run().document
    store.close()
    assert as_it_was(result) == recorded(RECORDED, query)["result"]
    told = [each for party in asked.channels.values() for each in party.heard if each.startswith("message")]
    whole = [each for said in recorded(RECORDED, query)["said"].values() for each in said if each.startswith("message")]
    assert 0 < len(told) < len(whole), "the journal says what was answered, and only the rest is told"


@EACH
def test_a_query_is_the_same_conversation_with_parties_of_both_versions(query: str) -> None:
    """Byte for byte: what this server tells older parties, and what this version's parties answer."""
    said, result = conversation(query)
    assert said == recorded(RECORDED, query)["said"]
    assert as_it_was(result) == recorded(RECORDED, query)["result"]
    asked: Any = federation(query)
    asked.channels = older_parties(query)
    assert asked.query().run().document == result


@EACH
def test_the_journals_were_recorded_in_the_middle(query: str, tmp_path: Path) -> None:
    store, journal = open_stores(str(tmp_path / "whole.db"))
    asked: Any = federation(query)
    asked.journal = Stopping(journal, 1000)
    asked.query().run()
    store.close()
    writes = 1000 - asked.journal.left
    assert writes / 4 < STOPPED_AT[query] < 3 * writes / 4


def test_an_older_party_that_hears_something_else_is_noticed() -> None:
    asked: Any = federation("panorama")
    asked.channels = older_parties("taps")
    with pytest.raises(AssertionError, match="task"):
        asked.query().run()
