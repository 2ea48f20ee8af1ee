"""A kept connection against a service that answers badly: never half an answer, always the same request again."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from treetop.adapters.http.retrying_connection import Request, RetryingConnection, RetryPolicy
from treetop.errors import PartyUnreachable, PeerViolation

WHOLE = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789"
QUICK = RetryPolicy(in_all=20, first_pause=0.01, longest_pause=0.02, answer_within=10)


class Script:
    """Answers each connection's first request with the next part of a script, then hangs up."""

    def __init__(self, *answers: bytes, pause: float = 0.0) -> None:
        self._answers, self._pause = list(answers), pause
        self.heard: list[bytes] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @contextmanager
    def running(self) -> Iterator["Script"]:
        self._thread.start()
        try:
            yield self
        finally:
            self._listener.shutdown(socket.SHUT_RDWR)
            self._thread.join(30)
            self._listener.close()

    def _serve(self) -> None:
        while self._answers:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                heard = connection.recv(65536)
                while not heard.endswith(b"body" if heard.startswith(b"POST") else b"\r\n\r\n"):
                    heard += connection.recv(65536)
                self.heard.append(heard)
                self._answer(connection, self._answers.pop(0))

    def _answer(self, connection: socket.socket, answer: bytes) -> None:
        try:
            for byte in answer if self._pause else []:
                connection.sendall(bytes([byte]))
                time.sleep(self._pause)
            connection.sendall(b"" if self._pause else answer)
        except OSError:
            return


@pytest.mark.parametrize(
    "broken",
    [
        WHOLE[:-1], WHOLE[:-10], WHOLE[:20], b"", b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\nRetry-After: 0\r\n\r\n", b"nonsense\r\n\r\n",
    ],
)  # fmt: skip
def test_an_answer_that_was_cut_off_is_asked_for_again(broken: bytes) -> None:
    with (
        Script(broken, broken, WHOLE).running() as script,
        closing(RetryingConnection(script.url, None, QUICK)) as kept,
    ):
        reply = kept.ask(Request("POST", "/x", b"body"))
    assert (reply.status, reply.body) == (200, b"0123456789")
    assert len(script.heard) == 3
    assert len(set(script.heard)) == 1, "the same bytes every time"


def test_an_answer_that_trickles_in_for_too_long_is_none() -> None:
    slow = RetryPolicy(in_all=0, answer_within=0.5)
    script = Script(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + bytes(1000), pause=0.01)
    with script.running(), closing(RetryingConnection(script.url, None, slow)) as kept:
        begin = time.monotonic()
        with pytest.raises(PartyUnreachable, match="TimeoutError"):
            kept.ask(Request("GET", "/x"))
        assert time.monotonic() - begin < 8, "the whole answer would take more than ten seconds"


HEAD, CHUNKED = b"HTTP/1.1 200 OK\r\n", b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "endless",
    [
        HEAD + b"X: " + b"a" * 1000, b"HTTP/1.1 100 Continue\r\n\r\n" * 40, CHUNKED + b"1;" + b"a" * 1000,
        CHUNKED + b"1\r\na\r\n0\r\n" + b"X: y\r\n" * 200,
    ],
    ids=["head", "interim answers", "size of a chunk", "trailers"],
)  # fmt: skip
def test_whatever_trickles_in_an_answer_has_its_time(endless: bytes) -> None:
    """A party that holds up the server with a byte now and then would hold up the query of all parties."""
    slow = RetryPolicy(in_all=0, answer_within=0.5)
    script = Script(endless, pause=0.01)
    with script.running(), closing(RetryingConnection(script.url, None, slow)) as kept:
        begin = time.monotonic()
        with pytest.raises(PartyUnreachable, match="TimeoutError"):
            kept.ask(Request("GET", "/x"))
        assert time.monotonic() - begin < 5, "the whole answer would take ten seconds and more"


def test_an_answer_that_ends_its_connection_is_whole() -> None:
    last = WHOLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with Script(last, last).running() as script, closing(RetryingConnection(script.url, None, QUICK)) as kept:
        assert [kept.ask(Request("GET", "/x")).body for _ in range(2)] == [b"0123456789"] * 2


def test_an_answer_that_is_too_long_is_refused() -> None:
    script, refused = Script(WHOLE), pytest.raises(PeerViolation, match="9 at most")
    with script.running(), closing(RetryingConnection(script.url, None, QUICK)) as kept, refused:
        kept.ask(Request("GET", "/x", max_bytes=9))
