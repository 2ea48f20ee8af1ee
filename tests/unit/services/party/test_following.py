"""A party of several processes: what one takes on, publishes or closes, another takes up at its next look."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from http.client import HTTPConnection
from pathlib import Path

import pytest
from tests.support.clocks import HandClock
from tests.support.parties import SERVER_KEY, Hosted, document, honest_entry, live, party_of, task
from tests.unit.services.party.test_report_collection import ONE_SHOT, ROUNDS, World, answer, listed, signed_list

from treetop.adapters.relational.journal import RelationalJournal
from treetop.adapters.relational.report_store import RelationalReportStore
from treetop.adapters.store_choice import open_stores
from treetop.errors import StoreUnavailable
from treetop.federation.device.group_assignment import Enrolment, assigned_group
from treetop.federation.wire.uploads import encoded_upload
from treetop.services.party import query_workers
from treetop.services.party.query_workers import Following
from treetop.trie.user_groups import Group

Stores = tuple[RelationalReportStore, RelationalJournal]


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[Stores]:
    opened = open_stores(str(tmp_path / "shared.db"))
    yield opened
    opened[0].close()


class Beside:
    """Another process: a party of its own over the same store."""

    def __init__(self, stores: Stores) -> None:
        store, journal = stores
        self.party = party_of(store, journal, HandClock())
        self.woken: list[bytes] = []
        self.failures: list[Exception] = []
        self.following = Following(self.party, store, journal, self.woken.append, self.failures.append)


def test_a_task_taken_on_elsewhere_is_taken_up(stores: Stores) -> None:
    beside = Beside(stores)
    beside.following.look()
    assert (list(beside.party.tasks), beside.woken) == ([], [])
    stores[0].add_task(ONE_SHOT.digest, document(ONE_SHOT))
    beside.following.look()
    assert list(beside.party.tasks) == [ONE_SHOT.digest]
    taken = beside.party.task(ONE_SHOT.digest)
    beside.following.look()
    assert beside.party.task(ONE_SHOT.digest) is taken


def test_beacon_lists_and_closed_groups_are_taken_up_in_rounds(stores: Stores) -> None:
    world, beside = World(ROUNDS), Beside(stores)
    world.store, world.journal = stores  # type: ignore[assignment]
    stores[0].add_task(ROUNDS.digest, document(ROUNDS))
    world.start()
    stores[0].issue_tickets(ROUNDS.digest, 40)
    stores[0].enrol(ROUNDS.digest, range(40))
    first = next(
        serial for serial in range(40)
        if assigned_group(ROUNDS, Enrolment(serial.to_bytes(8, "big"), b"b" * 32, "north")) == Group(1)
    )  # fmt: skip
    entry = answer(first, listed())
    upload = encoded_upload([entry])
    beside.following.look()
    assert beside.party.screened(ROUNDS.digest, upload).verdicts == ["level_not_open"]
    world.collection.publish_beacon(world.beacon())
    beside.following.look()
    assert beside.party.screened(ROUNDS.digest, upload).verdicts == ["level_not_open"]
    world.collection.publish_list(signed_list(listed()), listed())
    beside.following.look()
    assert beside.party.screened(ROUNDS.digest, upload).verdicts == [None]
    assert beside.woken == [ROUNDS.digest] * 2
    world.published.note_closed(Group(1))
    beside.following.look()
    late = beside.party.task(ROUNDS.digest).admission
    assert late.verdict(entry.ticket, entry.batch, 1 << 40) is None, "the store decides about a closed group"


def test_a_look_that_fails_is_told_and_taken_again(stores: Stores, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_workers, "LOOK_SECONDS", 0.01)
    beside, lengths, fails = Beside(stores), stores[1].lengths, [StoreUnavailable("away"), KeyError("whatever")]
    monkeypatch.setattr(stores[1], "lengths", lambda: _raise(fails.pop()) if fails else lengths())
    stores[0].add_task(ONE_SHOT.digest, document(ONE_SHOT))
    beside.following.start()
    asyncio.run(beside.following.next_look())
    beside.following.stop()
    beside.following.stop()
    assert [type(failure) for failure in beside.failures] == [KeyError, StoreUnavailable]
    assert ONE_SHOT.digest in beside.party.tasks
    assert beside.following.seen
    monkeypatch.setattr(query_workers, "STALE_SECONDS", 0)
    assert not beside.following.seen


def _raise(error: Exception) -> None:
    raise error


class LookingOnce:
    """The next look finds a task."""

    def __init__(self, hosted: Hosted) -> None:
        self._hosted, self.seen, self.looks = hosted, True, 0

    async def next_look(self) -> None:
        self.looks += 1
        self._hosted.party.take_up()


def test_a_request_about_an_unknown_task_waits_for_the_next_look() -> None:
    hosted, of = Hosted(), task()
    looking = LookingOnce(hosted)
    hosted.context = replace(hosted.context, others=looking)  # type: ignore[arg-type]
    hosted.store.add_task(of.digest, document(of))
    path, key = f"/v1/tasks/{of.digest.hex()}", {"Authorization": f"Bearer {SERVER_KEY}"}
    with live(hosted.context) as port:

        def asked(method: str, where: str, body: bytes | None = None) -> tuple[int, bytes]:
            connection = HTTPConnection("127.0.0.1", port, timeout=30)
            connection.request(method, where, body, key)
            reply = connection.getresponse()
            told = reply.status, reply.read()
            connection.close()
            return told

        upload = encoded_upload([honest_entry(of, 1)])
        assert asked("POST", path + "/reports", upload) == (200, b'{"verdicts":["accepted"]}')
        assert asked("PUT", path + "/messages/1", b"{}")[0] == 202
        assert looking.looks == 1
        assert asked("GET", "/v1/tasks/" + "0" * 64)[0] == 404
        assert looking.looks == 2
        assert asked("GET", "/v1/health")[0] == 200
        looking.seen = False
        assert asked("GET", "/v1/health")[0] == 503
