"""One connection of a client who may mean harm: bounded in time, and in what it makes the service hold.

uvicorn parses and buffers; what it leaves unbounded is bounded here: the head of a request in bytes and headers, what
stands around the pieces of a chunked body and behind it, requests sent behind each other, answers that nobody reads,
the number of connections, and the bytes of all unanswered requests together.
"""

from asyncio import TimerHandle, Transport
from http import HTTPStatus

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from treetop.adapters.http.browser_rules import PAIRS
from treetop.adapters.http.endpoint_settings import ServiceLimits
from treetop.adapters.http.problem_details import RETRY_SECONDS, Problem, last_word, response_of

MAX_HEAD_BYTES = 64 << 10
"""Of a head, of what stands around the pieces of a chunked body, and of trailers: uvicorn bounds none of them."""
MAX_ADDRESS_BYTES = 8 << 10
MAX_HEADERS = 100
MAX_CHUNKS = 8192
"""Of one body: each costs time, however small it is."""
MAX_PIPELINED = 16
"""Requests that wait for the answer to an earlier one of their connection."""
FREE_BYTES = 16 << 10
"""Of every connection, before it draws on what all may hold: parked large requests do not shut out small ones."""
PIECE_BYTES = 16 << 10
"""Fed to the parser at a time: a packet is as large as its sender likes, and nothing is counted within a piece."""
LINGER_SECONDS = 1.0
"""How long what a refused client still sends is dropped, so that it reads why before the connection is reset."""


def _answer(problem: Problem) -> bytes:
    """Return a whole answer for a connection whose application is not asked."""
    response = response_of(problem)
    head = f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n".encode()
    headers = b"".join(name + b": " + value + b"\r\n" for name, value in (*response.raw_headers, *PAIRS))
    return head + headers + b"\r\n" + bytes(response.body)


def _busy(detail: str) -> bytes:
    return _answer(Problem(503, detail, {"Retry-After": str(RETRY_SECONDS), "Connection": "close"}))


_NO_ANSWER = b""
_NOT_HTTP = _answer(last_word(400, "this is not an HTTP request"))
_TOO_SLOW = _answer(last_word(408, "the body did not arrive in time"))
_TOO_LONG = _answer(
    last_word(
        431,
        f"the head of a request has {MAX_HEAD_BYTES} bytes, {MAX_HEADERS} headers and an address of "
        f"{MAX_ADDRESS_BYTES} bytes at most, and what follows a body as many bytes",
    )
)
_TOO_MANY_CHUNKS = _answer(last_word(413, f"a body comes in {MAX_CHUNKS} chunks at most"))
_TOO_MUCH_HELD = _busy("too many bytes of other requests are held at the moment")
_TOO_MANY_CONNECTIONS = _busy("too many connections at once")


class _Refused(Exception):
    """Ends the parsing of a request; the connection knows why."""


def guarded(limits: ServiceLimits) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with limits; the bytes of all its connections are counted together."""
    in_flight = 0

    class GuardedConnection(HttpToolsProtocol):
        """One connection."""

        _timer: TimerHandle | None = None
        _deadline: float | None = None
        """Of the head or the body that is waited for. The timer looks at it, so that few timers are made."""
        _reader_timer: TimerHandle | None = None
        _in_head = _in_body = _ended = False
        _refusal: bytes | None = None
        _loose = 0
        """Bytes since the last piece of a body, the end of a head or of a request: the parser may hold them all."""
        _chunks = 0
        _packet = _held = _drawn = _unsent = 0

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            """Begin to wait for the first head, unless there are too many connections."""
            super().connection_made(transport)
            if len(self.connections) > limits.connections_at_once:
                self._ended = True
                transport.write(_TOO_MANY_CONNECTIONS)
                transport.close()
            else:
                self._begin_to_wait()

        def connection_lost(self, exc: Exception | None) -> None:
            """Wait no longer, hold nothing."""
            self._cancel_timer()
            self.resume_writing()
            self._hold(0)
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Let uvicorn parse, piece by piece, as long as there is room and the request stays within its limits."""
            self._packet = len(data)
            if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
                self._begin_to_wait()
            for start in range(0, len(data), PIECE_BYTES):
                if self._ended or self.transport.is_closing():
                    return
                piece = data[start : start + PIECE_BYTES]
                dropped = self._in_body and self.cycle.response_complete  # the rest of a body that was answered early
                if not dropped and not self._hold(self._held + len(piece)):
                    self._end(_TOO_MUCH_HELD)
                    return
                self._loose += len(piece)
                super().data_received(piece)
                if self._loose > MAX_HEAD_BYTES:
                    self._end(_TOO_LONG)

        def send_400_response(self, msg: str) -> None:  # noqa: ARG002  the library's own words
            """Answer a request that could not be parsed, or was not allowed to be."""
            self._end(_NOT_HTTP if self._refusal is None else self._refusal)

        def on_message_begin(self) -> None:
            """Begin to wait for the rest of a head."""
            super().on_message_begin()
            self._in_head = True
            if self._deadline is None:
                self._begin_to_wait()

        def on_url(self, url: bytes) -> None:
            """Take a part of the address."""
            super().on_url(url)
            if len(self.url) > MAX_ADDRESS_BYTES:
                self._refuse(_TOO_LONG)

        def on_header(self, name: bytes, value: bytes) -> None:
            """Take a header; what stands behind a body is read by nobody."""
            if self._in_body:
                return
            super().on_header(name, value)
            if len(self.headers) > MAX_HEADERS:
                self._refuse(_TOO_LONG)

        def on_headers_complete(self) -> None:
            """Begin to wait for the body."""
            self._in_head = False
            self._in_body = True
            self._loose = self._chunks = 0
            self._begin_to_wait()
            super().on_headers_complete()
            if len(self.pipeline) > MAX_PIPELINED:
                self._refuse(_NO_ANSWER)

        def on_chunk_header(self) -> None:
            """Count a chunk."""
            self._chunks += 1
            if self._chunks > MAX_CHUNKS:
                self._refuse(_TOO_MANY_CHUNKS)

        def on_body(self, body: bytes) -> None:
            """Take a piece of the body."""
            self._loose = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            """Stop the clock: how long the answer takes is not the client's fault."""
            self._in_body = False
            self._loose = 0
            self._deadline = None
            super().on_message_complete()
            if self.cycle.response_complete:
                self._let_go()

        def on_response_complete(self) -> None:
            """Hold no more of a request that was answered."""
            super().on_response_complete()
            self._let_go()

        def pause_writing(self) -> None:
            """Give the client time to read what waits for it."""
            super().pause_writing()
            self._watch_reader()

        def resume_writing(self) -> None:
            """Go on: the client has read."""
            if self._reader_timer is not None:
                self._reader_timer.cancel()
                self._reader_timer = None
            super().resume_writing()

        def _watch_reader(self) -> None:
            self._unsent = self.transport.get_write_buffer_size()
            self._reader_timer = self.loop.call_later(limits.body_seconds, self._check_reader)

        def _check_reader(self) -> None:
            if self.transport.get_write_buffer_size() < self._unsent:
                self._watch_reader()
            else:
                self.transport.abort()

        def _hold(self, held: int) -> bool:
            """Hold that number of bytes for this connection, or return False: there is no room."""
            nonlocal in_flight
            drawn = max(0, held - FREE_BYTES)
            if drawn > self._drawn and in_flight + drawn - self._drawn > limits.most_bytes_in_flight:
                return False
            in_flight += drawn - self._drawn
            self._held = held
            self._drawn = drawn
            return True

        def _let_go(self) -> None:
            """Hold what is not answered yet: nothing, or requests that came with the last packet."""
            if self._in_head or not (self.cycle is None or self.cycle.response_complete):
                self._hold(min(self._held, self._packet))
                return
            self._hold(0)
            if self._in_body:
                self.cycle.body = bytearray()
            else:
                self.cycle = self.scope = self.headers = None  # type: ignore[assignment]

        def _refuse(self, answer: bytes) -> None:
            self._refusal = answer
            raise _Refused

        def _end(self, answer: bytes) -> None:
            """Say why, if it is this request that the client waits for, and parse nothing more."""
            if self._ended or self.transport.is_closing():
                return
            self._ended = True
            self._cancel_timer()
            answered = self.cycle is None or self.cycle.response_complete
            waited_for = not self.cycle.response_started if self._in_body else answered
            if answer and waited_for and not self.pipeline:
                self.transport.write(answer)
                self._timer = self.loop.call_later(LINGER_SECONDS, self.transport.close)
            else:
                self.transport.close()
            if not answered:
                self.cycle.disconnected = True
                self.cycle.message_event.set()
            self.pipeline.clear()
            self._in_head = self._in_body = False
            self.parser = self.cycle = self.scope = self.headers = None  # type: ignore[assignment]
            self._hold(0)

        def _begin_to_wait(self) -> None:
            self._deadline = self.loop.time() + limits.body_seconds
            if self._timer is None:
                self._timer = self.loop.call_later(limits.body_seconds, self._look_at_the_clock)

        def _look_at_the_clock(self) -> None:
            self._timer = None
            if self._deadline is None:
                return
            left = self._deadline - self.loop.time()
            if left > 0:
                self._timer = self.loop.call_later(left, self._look_at_the_clock)
            else:
                self._end(_TOO_SLOW if self._in_body else _NO_ANSWER)

        def _cancel_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    return GuardedConnection
