"""HTTP connections that do not wait for ever: a request must arrive in time, and its head be of a decent size."""

from asyncio import TimerHandle, Transport
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from treetop.adapters.http.problem_details import Problem, last_word, response_of

MOST_HEAD_BYTES = 64 << 10


def _answer(problem: Problem) -> bytes:
    """Return a whole answer for a connection whose application is not asked."""
    response = response_of(problem)
    head = f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n".encode()
    return (
        head
        + b"".join(name + b": " + value + b"\r\n" for name, value in response.raw_headers)
        + b"\r\n"
        + bytes(response.body)
    )


_TOO_SLOW = _answer(last_word(408, "the body did not arrive in time"))
_TOO_LONG = _answer(last_word(431, f"the head of a request has {MOST_HEAD_BYTES} bytes at most"))


def guarded(seconds: float) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with a limit of seconds for the head of a request, and again for its body."""

    class GuardedProtocol(HttpToolsProtocol):
        """One connection."""

        _timer: TimerHandle | None = None
        _in_head = False
        _in_body = False
        _arrived = 0
        _arriving = 0

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            """Begin to wait for the first head."""
            super().connection_made(transport)
            self._start_timer()

        def connection_lost(self, exc: Exception | None) -> None:
            """Wait no longer."""
            self._stop_timer()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Let uvicorn parse; end a connection whose head is too long."""
            self._arriving = len(data)
            self._arrived += self._arriving
            if self._idle():
                self._start_timer()
            super().data_received(data)
            if self._in_head and self._arrived > MOST_HEAD_BYTES and not self.transport.is_closing():
                self.transport.write(_TOO_LONG)
                self.transport.close()

        def on_message_begin(self) -> None:
            """Begin to count the bytes of a head, with those it came with."""
            super().on_message_begin()
            self._in_head, self._arrived = True, self._arriving
            self._start_timer()

        def on_headers_complete(self) -> None:
            """Begin to wait for the body."""
            self._in_head, self._in_body = False, True
            self._stop_timer()
            self._start_timer()
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            """Stop the clock: how long the answer takes is not the client's fault."""
            self._in_body = False
            self._stop_timer()
            super().on_message_complete()

        def _idle(self) -> bool:
            return not self._in_head and not self._in_body and (self.cycle is None or self.cycle.response_complete)

        def _start_timer(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(seconds, self._give_up)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            if self.transport.is_closing():
                return
            if self._in_body and not self.cycle.response_started:
                self.transport.write(_TOO_SLOW)
            self.transport.close()

    return GuardedProtocol
