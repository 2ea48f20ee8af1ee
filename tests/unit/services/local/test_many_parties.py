"""A federation of many parties on one machine: they share processes, and their fleets take turns."""

from pathlib import Path
from typing import cast

import pytest

from treetop.datasets.loading import as_federation
from treetop.federation.server.order_json import query_to_json
from treetop.mechanisms.deployment import Mode
from treetop.mechanisms.query import Query
from treetop.services.local import run
from treetop.services.local.folder import FederationFolder, LocalOptions
from treetop.services.local.processes import Processes, Supervised
from treetop.services.local.run import FLEETS_AT_ONCE, PARTY_PROCESSES, LocalFederation


class Noted:
    """Processes that are not started, but noted."""

    def __init__(self) -> None:
        self.started: list[tuple[str, list[str], Path]] = []

    def start(self, name: str, arguments: list[str], log: Path) -> "PlayedFleet":
        self.started.append((name, arguments, log))
        return PlayedFleet()

    def revive(self) -> None:
        """Nothing dies."""


class PlayedFleet:
    """A fleet that ends when a test says so."""

    finished = False

    def last_words(self) -> str:
        return '{"sent": 1}'


def federation(
    path: Path, parties: int, monkeypatch: pytest.MonkeyPatch, mode: Mode = "one-shot"
) -> tuple[LocalFederation, Noted]:
    people = as_federation({f"party {number}": {"tea": 3} for number in range(parties)})
    options = LocalOptions("drinks", parties, query=query_to_json(Query(encoding="words")), mode=mode)
    noted = Noted()
    made = LocalFederation(FederationFolder.begin(path, options, people), cast(Processes, noted))
    monkeypatch.setattr(made, "_wait_for", lambda _url: None)
    monkeypatch.setattr(made, "keep_tickets", lambda *_: None)
    return made, noted


@pytest.mark.parametrize(("parties", "processes"), [(1, 1), (3, 3), (8, 8), (9, 5), (100, 8)])
def test_few_parties_have_a_process_each_and_many_share_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parties: int, processes: int
) -> None:
    made, noted = federation(tmp_path, parties, monkeypatch)
    made.start()
    server, *hosts = [arguments for _, arguments, _ in noted.started]
    assert server[0] == "server"
    assert len(hosts) == processes <= PARTY_PROCESSES
    served = [word for host in hosts for word in host[2::2]]
    assert sorted(served) == sorted(str(home.path / "party.toml") for home in made.folder.parties.values())
    assert len({log for _, _, log in noted.started}) == 1 + processes


def test_fleets_of_a_one_shot_task_begin_as_others_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, noted = federation(tmp_path, 20, monkeypatch)
    made.play()
    assert len(noted.started) == len(made.fleets) == FLEETS_AT_ONCE
    assert sum(done for done, _ in made.reported().values()) == FLEETS_AT_ONCE
    assert len(made.reported()) == 20
    for name in list(made.fleets)[:3]:
        cast(PlayedFleet, made.fleets[name]).finished = True
    made._begin_fleets()
    assert len(noted.started) == FLEETS_AT_ONCE + 3
    while len(noted.started) < 20:
        for fleet in made.fleets.values():
            cast(PlayedFleet, fleet).finished = True
        made._begin_fleets()
    assert set(made.fleets) == set(made.folder.parties)


def test_in_rounds_all_fleets_begin_since_a_level_waits_for_every_party(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, noted = federation(tmp_path, 20, monkeypatch, "rounds")
    made.play()
    assert len(noted.started) == 20


def test_a_fleet_that_has_not_begun_has_sent_nothing() -> None:
    assert run._progress(None, 7) == (0, 7)
    assert run._progress(cast(Supervised, PlayedFleet()), 7) == (1, 7)
