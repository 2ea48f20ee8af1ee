"""Spans of what services do: counts and digests, nothing of a device; nothing at all where nobody asked."""

import subprocess
import sys

import pytest
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from tests.support.parties import honest_entry, task
from tests.support.reports import TASK, report, reports

from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.adapters.system import telemetry
from treetop.errors import InvalidInput, PartyUnreachable, StoreUnavailable
from treetop.services.party.group_commit import GroupCommit
from treetop.services.party.query_workers import QueryWorkers
from treetop.services.server.party_channel import HttpChannel
from treetop.toml_files import Secret


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    monkeypatch.setattr(telemetry, "_tracer", None)
    exporter = InMemorySpanExporter()
    telemetry.export_to("a test", SimpleSpanProcessor(exporter))
    return exporter


def told(exporter: InMemorySpanExporter) -> list[tuple[str, dict[str, object]]]:
    return [(span.name, dict(span.attributes or {})) for span in exporter.get_finished_spans()]


def test_a_commit_says_how_many_reports_and_nothing_of_them(exported: InMemorySpanExporter) -> None:
    store = MemoryReportStore()
    store.add_task(TASK, b"")
    writer = GroupCommit(store)
    writer.submit(reports(range(3))).result(30)
    writer.close()
    assert told(exported) == [("commit reports", {"treetop.reports": 3, "treetop.uploads": 1})]
    text = exported.get_finished_spans()[0].to_json()
    assert report(1).body.hex() not in text
    assert honest_entry(task(), 1).ticket.hex() not in text


def test_a_failure_is_told_by_its_kind_alone(exported: InMemorySpanExporter, monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryReportStore()
    monkeypatch.setattr(store, "submit", lambda _reports: _raise(StoreUnavailable("canary")))
    writer = GroupCommit(store)
    with pytest.raises(StoreUnavailable):
        writer.submit(reports(range(2))).result(30)
    writer.close()
    ((name, attributes),) = told(exported)
    assert (name, attributes["error.type"]) == ("commit reports", "StoreUnavailable")
    assert "canary" not in exported.get_finished_spans()[0].to_json()


def _raise(error: Exception) -> None:
    raise error


def test_messages_and_calls_have_spans(exported: InMemorySpanExporter) -> None:
    left = [True]
    workers = QueryWorkers(lambda _task: bool(left and left.pop()), lambda _task, error: _raise(error))
    workers.wake(TASK)
    while left:
        pass
    workers.stop()

    class Away:
        def ask(self, _request: object) -> object:
            raise PartyUnreachable("north", "canary")

    with pytest.raises(PartyUnreachable):
        HttpChannel("north", Away(), Secret(b"canary-key"), 1).outcome(TASK, 1)  # type: ignore[arg-type]
    assert ("answer the server", {"treetop.task": TASK.hex()}) in told(exported)
    asked = {"treetop.party": "north", "treetop.method": "GET", "error.type": "PartyUnreachable"}
    assert told(exported)[-1] == ("ask a party", asked)
    assert "canary" not in exported.get_finished_spans()[-1].to_json()


def test_without_an_address_nothing_is_loaded() -> None:
    program = """
import sys
from treetop.adapters.system.telemetry import begin_tracing, span
begin_tracing("a service", {})
with span("something", reports=1): pass
assert not any(name.startswith("opentelemetry.sdk") for name in sys.modules)
"""
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_an_address_without_the_extra_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter.otlp.proto.http.trace_exporter", None)
    with pytest.raises(InvalidInput, match=r"treetop-ldp\[tracing\]"):
        telemetry.begin_tracing("a service", {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"})
