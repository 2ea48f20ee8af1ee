"""One connection: what it may send, how much of it is held, and what it is told when that is too much."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from starlette.types import Receive, Scope, Send
from tests.support.parties import served

from treetop.adapters.http.guarded_connection import (
    FREE_BYTES,
    MAX_ADDRESS_BYTES,
    MAX_CHUNKS,
    MAX_HEAD_BYTES,
    MAX_HEADERS,
    MAX_PIPELINED,
)
from treetop.services.party.settings import Limits

HUGE = 32 << 20
GET = b"GET / HTTP/1.1\r\nHost: x\r\n"
CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"


async def measuring(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the length of the body; /huge with more than anybody reads at once; /early without reading."""
    body, more = b"", scope["path"] != "/early"
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            return
        body, more = body + message["body"], message["more_body"]
    answer = bytes(HUGE) if scope["path"] == "/huge" else b"%d" % len(body)
    headers = [(b"content-length", b"%d" % len(answer))]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": answer})


@contextmanager
def serving(limits: Limits | None = None) -> Iterator[int]:
    with served(measuring, limits or Limits()) as port:
        yield port


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    with serving() as found:
        yield found


def opened(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=30)


def answer_to(port: int, sent: bytes) -> bytes:
    """Return all that is answered until the other side ends or an answer is whole."""
    with opened(port) as connection:
        connection.sendall(sent)
        return read_from(connection)


def read_from(connection: socket.socket) -> bytes:
    """Return one whole answer, or what came before the end."""
    answer = b""
    while part := connection.recv(65536):
        answer += part
        head, found, body = answer.partition(b"\r\n\r\n")
        if found and len(body) >= int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
            break
    return answer


def read_to_the_end(connection: socket.socket) -> None:
    """Wait until the other side ends the connection; a reset is an end as well, silence is none."""
    with suppress(ConnectionError):
        while connection.recv(1 << 20):
            pass


def posted(length: int, path: bytes = b"/") -> bytes:
    return b"POST %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (path, length)


def chunk(body: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(body), body)


@pytest.mark.parametrize(
    "head",
    [
        GET + b"a: " + b"b" * (200 << 10) + b"\r\n\r\n",
        GET + b"a: " + b"b" * (MAX_HEAD_BYTES + (32 << 10)),
        GET + b"a: b\r\n" * (MAX_HEADERS + 1) + b"\r\n",
        b"GET /" + b"a" * MAX_ADDRESS_BYTES + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
    ids=["one packet", "not ended", "many headers", "a long address"],
)
def test_a_head_that_is_too_long_is_refused_however_it_comes(port: int, head: bytes) -> None:
    assert answer_to(port, head).startswith(b"HTTP/1.1 431 ")


def test_a_long_head_behind_an_unanswered_request_ends_the_connection(port: int) -> None:
    with opened(port) as connection:
        connection.sendall(posted(5) + b"hello" + GET + b"a: " + b"b" * (200 << 10))
        read_to_the_end(connection)


def test_heads_within_the_limits_are_taken(port: int) -> None:
    assert answer_to(port, GET + b"a: " + b"b" * (MAX_HEAD_BYTES - 100) + b"\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    assert answer_to(port, GET + b"a: b\r\n" * (MAX_HEADERS - 1) + b"\r\n").startswith(b"HTTP/1.1 200 ")


def test_chunked_bodies_are_taken_whole(port: int) -> None:
    pieces = [bytes([number % 256]) * (1 + 977 * number % 9000) for number in range(900)]
    sent = CHUNKED + b"".join(map(chunk, pieces)) + b"0\r\nX-Sum: 5\r\n\r\n"
    assert answer_to(port, sent).endswith(b"\r\n\r\n%d" % sum(map(len, pieces)))


@pytest.mark.parametrize(
    "framing",
    [
        b"0\r\n" + b"a:b\r\n" * 20_000,
        b"0\r\na: " + b"b" * 100_000,
        b"1;a=" + b"b" * 100_000,
        b"0" * 15 + b"1;" + b" " * 100_000,
    ],
    ids=["short trailers", "one long trailer", "a long extension", "blanks"],
)
def test_what_stands_around_a_chunked_body_is_bounded(port: int, framing: bytes) -> None:
    told = answer_to(port, CHUNKED + chunk(b"x") + framing)
    assert told.startswith((b"HTTP/1.1 431 ", b"HTTP/1.1 400 "))


def test_a_body_in_too_many_chunks_is_refused(port: int) -> None:
    assert answer_to(port, CHUNKED + chunk(b"xy") * (MAX_CHUNKS - 1) + b"0\r\n\r\n").startswith(b"HTTP/1.1 200 ")
    assert answer_to(port, CHUNKED + chunk(b"x") * (MAX_CHUNKS + 1)).startswith(b"HTTP/1.1 413 ")


def test_parked_bodies_share_what_may_be_held_and_small_requests_are_still_taken() -> None:
    limits = Limits(most_body_bytes=200_000, most_list_bytes=200_000, most_bytes_in_flight=300_000)
    with serving(limits) as port:
        parked = [opened(port) for _ in range(2)]
        for connection in parked:
            connection.sendall(posted(200_000) + bytes(160_000))
        time.sleep(0.3)
        told = answer_to(port, posted(100_000) + bytes(100_000))
        assert told.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 2\r\n" in told.lower()
        small = posted(FREE_BYTES // 2) + bytes(FREE_BYTES // 2)
        assert answer_to(port, small).endswith(b"\r\n\r\n%d" % (FREE_BYTES // 2))
        for connection in parked:
            connection.close()
        time.sleep(0.3)
        assert answer_to(port, posted(200_000) + bytes(200_000)).endswith(b"\r\n\r\n200000")


def test_nothing_of_an_answered_request_is_held() -> None:
    limits = Limits(most_body_bytes=200_000, most_list_bytes=200_000, most_bytes_in_flight=250_000)
    with serving(limits) as port, opened(port) as connection:
        for _ in range(20):
            connection.sendall(posted(200_000) + bytes(200_000))
            assert read_from(connection).endswith(b"\r\n\r\n200000")
        for _ in range(20):  # always one request ahead: never idle
            connection.sendall(2 * (posted(50_000) + bytes(50_000)))
            assert read_from(connection).count(b"HTTP/1.1 200 ") >= 1
            connection.sendall(posted(0))
            time.sleep(0.02)
            connection.recv(1 << 20)


def test_what_follows_an_early_answer_is_dropped_and_the_connection_goes_on() -> None:
    limits = Limits(most_body_bytes=200_000, most_list_bytes=200_000, most_bytes_in_flight=200_000)
    with serving(limits) as port, opened(port) as connection:
        connection.sendall(posted(2_000_000, b"/early") + bytes(1_000))
        assert read_from(connection).endswith(b"\r\n\r\n0")
        connection.sendall(bytes(1_999_000) + posted(3) + b"abc")
        assert read_from(connection).endswith(b"\r\n\r\n3")


def test_connections_are_counted() -> None:
    with serving(Limits(connections_at_once=3)) as port:
        kept = [opened(port) for _ in range(3)]
        time.sleep(0.2)
        told = answer_to(port, b"")
        assert told.startswith(b"HTTP/1.1 503 ")
        assert b"\r\nretry-after: 2\r\n" in told.lower()
        kept.pop().close()
        time.sleep(0.2)
        assert answer_to(port, GET + b"\r\n").startswith(b"HTTP/1.1 200 ")
        for connection in kept:
            connection.close()


def test_some_requests_may_follow_each_other_unanswered_and_many_may_not(port: int) -> None:
    with opened(port) as connection:
        connection.sendall(MAX_PIPELINED * (GET + b"\r\n"))
        answers = b""
        while answers.count(b"HTTP/1.1 200 ") < MAX_PIPELINED:
            answers += connection.recv(65536)
        connection.sendall(1000 * (GET + b"\r\n"))
        read_to_the_end(connection)


def test_a_client_that_reads_nothing_is_cut_off_and_one_that_reads_slowly_is_not() -> None:
    request = b"GET /huge HTTP/1.1\r\nHost: x\r\n\r\n"
    with serving(Limits(body_seconds=1)) as port, opened(port) as silent, opened(port) as slow:
        silent.sendall(request)
        slow.sendall(request)
        read = 0
        while read < HUGE:
            time.sleep(0.05)
            part = slow.recv(1 << 20)
            assert part, "cut off"
            read += len(part)
        silent_read = 0
        with suppress(ConnectionError):
            while part := silent.recv(1 << 20):
                silent_read += len(part)
        assert silent_read < HUGE
