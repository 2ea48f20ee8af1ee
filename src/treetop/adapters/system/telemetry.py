"""What a service reports about itself: a log for machines, and traces for OpenTelemetry where somebody asks for them.

The log has one JSON object a line, no client's address, no secret, and no flood: what clients cause is limited to one
line a second, and what was left out in between is counted in the next one. Spans are opened around commits of reports,
messages that a party answers and calls of the server; without an exporter `span` does nothing, and OpenTelemetry is not
loaded. Of an exception both record its kind, never its text, which may hold what must not be read.
"""

import json
import logging
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from threading import Lock
from typing import IO, Any

from treetop.adapters.system.host import SystemClock
from treetop.extras import needed_for
from treetop.federation.service_ports import ServiceClock

CLIENT_LINE_SECONDS = 1.0
"""At most one line in this time about what clients cause: a flood must not fill the disk."""


class StructuredLog:
    """Writes lines from any thread."""

    def __init__(self, stream: IO[str] | None = None, clock: ServiceClock | None = None) -> None:
        self._stream = stream or sys.stderr
        self._clock = clock or SystemClock()
        self._lock = Lock()
        self._next_client_line = 0.0
        self._left_out = 0

    def say(self, event: str, **fields: object) -> None:
        """Write a line about the service itself."""
        moment = datetime.fromtimestamp(self._clock.now(), UTC).isoformat()
        line = json.dumps({"time": moment, "event": event} | fields, default=type)
        with self._lock:
            self._stream.write(line + "\n")
            self._stream.flush()

    def client(self, event: str, **fields: object) -> None:
        """Write a line about what a client did, or count it if there was one within the second."""
        with self._lock:
            now = self._clock.monotonic()
            left_out = self._left_out
            if now < self._next_client_line:
                self._left_out += 1
                return
            self._next_client_line = now + CLIENT_LINE_SECONDS
            self._left_out = 0
        self.say(event, **fields, left_out=left_out)

    def failure(self, event: str, error: BaseException, **fields: object) -> None:
        """Write of an exception what it is and where it was raised."""
        frames = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
        self.client(event, kind=type(error).__name__, places=frames[-6:], **fields)


class LibraryLog(logging.Handler):
    """Takes what libraries log, without their arguments and texts of exceptions."""

    def __init__(self, say: Callable[..., None]) -> None:
        super().__init__(logging.WARNING)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on the template of a message and the kind of its exception."""
        kind = record.exc_info[0].__name__ if record.exc_info and record.exc_info[0] else None
        self._say("library", logger=record.name, message=str(record.msg).split("\n", 1)[0][:200], kind=kind)


def take_over(log: StructuredLog, *names: str) -> None:
    """Send the loggers of libraries to a structured log and nowhere else."""
    for name in names:
        logger = logging.getLogger(name)
        logger.handlers = [LibraryLog(log.client)]
        logger.propagate = False


ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_tracer: Any = None


def begin_tracing(service: str, environment: Mapping[str, str]) -> None:
    """Export spans from now on, if the environment names an endpoint; every other setting is OpenTelemetry's own."""
    if not any(environment.get(name) for name in ENDPOINTS):
        return
    with needed_for("tracing (OTEL_EXPORTER_OTLP_ENDPOINT)", "tracing"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415  an extra
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415  the same

    export_to(service, BatchSpanProcessor(OTLPSpanExporter()))


def export_to(service: str, processor: Any) -> None:
    """Hand the spans of this process to a processor of OpenTelemetry's."""
    global _tracer  # noqa: PLW0603  one process has one place for its spans
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415  an extra
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415  the same

    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    provider.add_span_processor(processor)
    _tracer = provider.get_tracer("treetop")


@contextmanager
def span(name: str, **attributes: str | int) -> Iterator[None]:
    """Mark what is done inside; of an exception only the kind is recorded, as its text may hold a secret."""
    if _tracer is None:
        yield
        return
    named = {f"treetop.{key}": value for key, value in attributes.items()}
    opened = _tracer.start_as_current_span(
        name, attributes=named, record_exception=False, set_status_on_exception=False
    )
    with opened as current:
        try:
            yield
        except Exception as error:
            current.set_attribute("error.type", type(error).__name__)
            raise
