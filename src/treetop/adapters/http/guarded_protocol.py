"""HTTP connections that do not wait for ever: the head of a request must arrive in time and be of a decent size."""

from asyncio import TimerHandle, Transport

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

MOST_HEAD_BYTES = 64 << 10


def guarded(seconds: float) -> type[HttpToolsProtocol]:
    """Return uvicorn's protocol with a limit of time and size for heads; bodies are limited by the front door."""

    class GuardedProtocol(HttpToolsProtocol):
        """One connection."""

        _timer: TimerHandle | None = None
        _in_head = False
        _arrived = 0
        _arriving = 0

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            """Begin to wait for the first head."""
            super().connection_made(transport)
            self._expect_head()

        def connection_lost(self, exc: Exception | None) -> None:
            """Wait no longer."""
            self._stop_timer()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            """Let uvicorn parse; end a connection whose head is too long."""
            self._arriving = len(data)
            self._arrived += self._arriving
            if self._idle():
                self._expect_head()
            super().data_received(data)
            if self._in_head and self._arrived > MOST_HEAD_BYTES and not self.transport.is_closing():
                self.transport.write(b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\n\r\n")
                self.transport.close()

        def on_message_begin(self) -> None:
            """Begin to count the bytes of a head, with those it came with."""
            super().on_message_begin()
            self._in_head, self._arrived = True, self._arriving
            self._expect_head()

        def on_headers_complete(self) -> None:
            """Stop the clock: from here on the front door has its own."""
            self._in_head = False
            self._stop_timer()
            super().on_headers_complete()

        def _idle(self) -> bool:
            return not self._in_head and (self.cycle is None or self.cycle.response_complete)

        def _expect_head(self) -> None:
            if self._timer is None:
                self._timer = self.loop.call_later(seconds, self._give_up)

        def _stop_timer(self) -> None:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

        def _give_up(self) -> None:
            if not self.transport.is_closing():
                self.transport.close()

    return GuardedProtocol
