"""Traces for OpenTelemetry, where somebody asks for them: what a service does, and nothing about a device.

Spans are opened around commits of reports, messages that a party answers and calls of the server. Without an exporter
`span` does nothing, and OpenTelemetry is not loaded.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from treetop.extras import needed_for

ENDPOINTS = ("OTEL_EXPORTER_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT")
_tracer: Any = None


def begin_tracing(service: str, environment: Mapping[str, str]) -> None:
    """Export spans from now on, if the environment says where to; every other setting is OpenTelemetry's own."""
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
    """Mark what is done inside; an exception is told by its kind alone, as its text may hold what must not be read."""
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
