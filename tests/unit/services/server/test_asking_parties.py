"""Parties are asked several at a time: nobody waits for all that are away, and the journal is the same to the byte."""

from collections.abc import Callable
from threading import Barrier, Lock, get_ident

import pytest
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route
from tests.support.federations import Federation, crowd, order
from tests.support.journals import ScriptedJournal
from tests.support.parties import served
from tests.support.servers import SIZES, channels, manager_over, wanted

from treetop.adapters.http.retrying_connection import RetryingConnection
from treetop.adapters.memory.ports import MemoryChannel
from treetop.errors import PeerViolation
from treetop.federation.server.party_poller import AskAll, MissingPolicy
from treetop.services.server.party_channel import AT_A_TIME, HttpChannel, several_at_a_time
from treetop.toml_files import Secret

SECONDS = 60


def test_so_many_are_asked_at_a_time_and_what_they_say_is_in_their_order() -> None:
    meeting, lock, at_once, most = Barrier(AT_A_TIME), Lock(), 0, 0

    def ask(party: int) -> int:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        meeting.wait(SECONDS)  # passed by a whole batch, or by nobody
        with lock:
            at_once -= 1
        return 10 * party

    parties = range(3 * AT_A_TIME)
    assert list(several_at_a_time(ask, parties)) == [10 * party for party in parties]
    assert most == AT_A_TIME


def test_the_next_are_asked_when_those_before_them_have_been_read() -> None:
    asked: list[int] = []

    def ask(party: int) -> int:
        asked.append(party)
        return party

    said = several_at_a_time(ask, range(5), 2)
    assert asked == []
    assert next(said) == 0
    assert sorted(asked) == [0, 1]
    assert list(said) == [1, 2, 3, 4]


@pytest.mark.parametrize("place", [0, 2])
def test_what_goes_wrong_in_a_thread_is_raised_where_the_answer_is_read(place: int) -> None:
    def ask(party: int) -> int:
        if party == place:
            raise MemoryError(f"at {party}")
        return party

    said = several_at_a_time(ask, range(3))
    with pytest.raises(MemoryError, match=f"at {place}"):
        list(said)


def test_nobody_is_asked_where_there_is_nobody() -> None:
    assert list(several_at_a_time(str, ())) == []


class Meeting(MemoryChannel):
    """A party that answers only while others are asked, too."""

    meeting: Barrier
    threads: set[int]

    def outcome(self, task: bytes, number: int) -> bytes | None:
        self.threads.add(get_ident())
        self.meeting.wait(SECONDS)
        return super().outcome(task, number)


def test_a_server_asks_its_parties_at_the_same_time() -> None:
    """Where they are asked one by one, the first of these waits for the others in vain."""
    Meeting.meeting, Meeting.threads = Barrier(len(SIZES)), set()
    parties = {name: Meeting(name, channel._party) for name, channel in channels().items()}
    manager = manager_over(ScriptedJournal(), parties)
    task = manager.take(wanted()).task
    manager._queries[task].thread.join(SECONDS)
    assert manager.state(task).state == "answered"
    assert len(Meeting.threads) >= len(SIZES)


@pytest.mark.parametrize(("mechanism", "mode"), [("taps", "rounds"), ("canopy", "one-shot"), ("panorama", "one-shot")])
@pytest.mark.parametrize("away", [(), ("p03", "p08")])
def test_the_journal_is_the_same_to_the_byte_as_when_they_are_asked_one_by_one(
    mechanism: str, mode: str, away: tuple[str, ...]
) -> None:
    def kept(ask_all: AskAll) -> list[tuple[str, list[tuple[str, bytes]]]]:
        names = [f"p{place:02d}" for place in range(AT_A_TIME + 3)]
        policy = MissingPolicy("proceed", 5.0)
        codes = crowd(dict.fromkeys(names, 120))
        asked = Federation.of(order(mechanism, mode, names), codes, policy=policy, ask_all=ask_all)
        for name in away:
            asked.channels[name].reachable = False
        assert len(asked.query().run().content["missing"]) == len(away)
        return [(book, list(entries.items())) for book, entries in asked.journal.kept.items()]

    assert kept(several_at_a_time) == kept(map)


@pytest.mark.parametrize(
    ("ask", "status", "most"),
    [
        (lambda channel: channel.outcome(bytes(32), 1), 200, 100_000),
        (lambda channel: channel.outcome(bytes(32), 1), 500, 100_000),
        (lambda channel: channel.tell(bytes(32), 1, b"{}"), 202, 1 << 16),
        (lambda channel: channel.give_list(bytes(32), b"{}"), 500, 1 << 16),
    ],
)
def test_no_more_of_an_answer_is_taken_than_the_task_explains(
    ask: Callable[[HttpChannel], object], status: int, most: int
) -> None:
    """Eight parties that each say 256 MiB would have a server hold them all."""
    sizes = iter([most, most + 1])

    def answered(_request: object) -> Response:
        return Response(b"x" * next(sizes), status)

    with served(Starlette(routes=[Route("/{path:path}", answered, methods=["GET", "PUT"])])) as port:
        connection = RetryingConnection(f"http://127.0.0.1:{port}")
        channel = HttpChannel("north", connection, Secret(b"key"), 100_000)
        if status < 300:
            ask(channel)
        else:
            with pytest.raises(PeerViolation, match="answer of party 'north'"):
                ask(channel)
        with pytest.raises(PeerViolation, match=f"bytes of an answer: expected {most} at most"):
            ask(channel)
        channel.close()
