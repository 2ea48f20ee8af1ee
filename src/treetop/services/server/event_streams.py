"""Run by the server: those who follow queries, over server-sent events that can be taken up where they broke off."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence

from starlette.responses import Response, StreamingResponse

from treetop.adapters.http.problem_details import Problem, come_back
from treetop.federation.server.query_history import ANSWERED, QueryEvent
from treetop.services.server.query_manager import QueryManager

MAX_LISTENERS = 100
"""At once, all queries together: below `requests_at_once`, so that following never shuts out asking."""
LOOK_SECONDS = 0.5
SIGN_OF_LIFE_SECONDS = 15.0
NEXT_TRY_MILLISECONDS = 2000
BUSY_SECONDS = 10


class EventStreams:
    """Every open stream of one server."""

    def __init__(self, queries: QueryManager, most: int = MAX_LISTENERS) -> None:
        self._queries = queries
        self._most = most
        self._ended = False
        self.listeners = 0

    def end(self) -> None:
        """Close all streams: the service ends, and who follows takes up with the next one."""
        self._ended = True

    def response(self, task: str, last_event_id: str | None, may_follow: Callable[[], bool]) -> Response:
        """Return the events of a query behind the one that was seen last; nothing, if that was the answer.

        They end when whoever follows may no longer: a key or a session has ended.
        """
        seen = _number(last_event_id)
        events = self._queries.events(task)
        if 0 < len(events) <= seen and events[-1].kind == ANSWERED:
            return Response(status_code=204)  # a browser asks no more
        if self.listeners >= self._most:
            raise come_back(503, "too many follow queries at the moment", BUSY_SECONDS)
        unbuffered = {"x-accel-buffering": "no", "cache-control": "no-store"}  # the first is for proxies
        stream = self._stream(task, seen, may_follow)
        return StreamingResponse(stream, headers=unbuffered, media_type="text/event-stream")

    async def _stream(self, task: str, seen: int, may_follow: Callable[[], bool]) -> AsyncIterator[bytes]:
        yield b"retry: %d\n\n" % NEXT_TRY_MILLISECONDS
        if self.listeners >= self._most:  # others asked at the same moment
            return
        self.listeners += 1
        try:
            quiet = 0.0
            while not self._ended and may_follow():
                new = self._queries.known_events(task)[seen:]
                if new:
                    yield written(new)
                    seen = seen + len(new)
                    quiet = 0.0
                    if new[-1].kind == ANSWERED:
                        return
                elif quiet >= SIGN_OF_LIFE_SECONDS:
                    yield b": still here\n\n"
                    quiet = 0.0
                await asyncio.sleep(LOOK_SECONDS)
                quiet += LOOK_SECONDS
        finally:
            self.listeners -= 1


def written(events: Sequence[QueryEvent]) -> bytes:
    """Return events as they are sent; JSON has no line ends of its own."""
    return b"".join(b"id: %d\ndata: %s\n\n" % (each.number, json.dumps(each.to_json()).encode()) for each in events)


def _number(last_event_id: str | None) -> int:
    if last_event_id is None:
        return 0
    if not (last_event_id.isascii() and last_event_id.isdigit() and len(last_event_id) <= 9):
        raise Problem(400, "Last-Event-ID must be the number of an event, 9 digits at most")
    return int(last_event_id)
