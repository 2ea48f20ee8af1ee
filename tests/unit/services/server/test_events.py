"""Events of a query: facts of the journal, numbered, taken up anywhere, the same after a restart."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator
from contextlib import closing
from dataclasses import replace
from http.client import HTTPConnection
from typing import Any, cast

import pytest
from starlette.responses import StreamingResponse
from tests.support.http_answers import Answer, answer_of, is_problem
from tests.support.parties import served
from tests.support.servers import ADMIN_KEY, METRICS_KEY, SIZES, Away, HostedServer, channels, wanted

from treetop.adapters.http.endpoint_settings import AccessKey
from treetop.federation.documents import canonical_json
from treetop.federation.server.query_history import events_behind
from treetop.services.server.app import server_app
from treetop.services.server.event_streams import EventStreams
from treetop.toml_files import Secret


def follow(port: int, task: str, seen: str | None = None, key: str = ADMIN_KEY) -> Answer:
    """Return all that a stream says until it ends."""
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    headers = {"Authorization": f"Bearer {key}"} | ({} if seen is None else {"Last-Event-ID": seen})
    try:
        connection.request("GET", f"/v1/queries/{task}/events", headers=headers)
        return answer_of(connection)
    finally:
        connection.close()


def events(answer: Answer) -> list[dict[str, Any]]:
    first, *blocks = answer.body.decode().removesuffix("\n\n").split("\n\n")
    assert first == "retry: 2000"
    lines = [block.split("\n") for block in blocks if not block.startswith(":")]
    found = [json.loads(data.removeprefix("data: ")) for _, data in lines]
    assert [f"id: {each['number']}" for each in found] == [number for number, _ in lines]
    return found


def answered(server: HostedServer, task: str) -> None:
    end = time.monotonic() + 60
    while server.queries.state(task).state == "running":
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.parametrize("mode", ["one-shot", "rounds"])
def test_a_query_is_followed_to_its_answer_and_taken_up_anywhere(mode: str) -> None:
    server = HostedServer()
    task = server.queries.take(wanted(mode=mode)).task
    with served(server_app(server.context)) as port:
        stream = follow(port, task)
        assert stream.headers["content-type"] == "text/event-stream; charset=utf-8"
        whole = events(stream)
        assert [each["number"] for each in whole] == list(range(1, len(whole) + 1))
        assert (whole[0]["kind"], whole[-1]["kind"]) == ("ordered", "answered")
        closed = {each["party"]: each["devices"] for each in whole if each["kind"] == "closed"}
        assert closed == SIZES
        for party in SIZES:
            levels = [trace["level"] for each in whole if each["party"] == party for trace in each["levels"]]
            assert levels == [1, 2]
        for seen in (1, len(whole) // 2, len(whole) - 1):
            assert events(follow(port, task, str(seen))) == whole[seen:]
        assert follow(port, task, str(len(whole))).status == 204
    restarted = HostedServer(journal=server.journal)
    restarted.queries.resume()
    with served(server_app(restarted.context)) as port:
        assert events(follow(port, task, "2")) == whole[2:]
    assert restarted.context.streams.listeners == 0


def test_who_follows_needs_an_admin_key_a_query_and_a_number() -> None:
    server = HostedServer()
    task = server.queries.take(wanted()).task
    with served(server_app(server.context)) as port:
        assert is_problem(follow(port, task, key="x"), 401)
        assert is_problem(follow(port, task, key=METRICS_KEY), 403)
        assert is_problem(follow(port, "0" * 64), 404)
        for seen in ("-1", "x", "1" * 10, "²"):
            assert is_problem(follow(port, task, seen.encode("utf-8").decode("latin-1")), 400)


def test_so_many_follow_and_no_more_and_the_end_of_the_service_ends_them() -> None:
    of = channels()
    server = HostedServer(channels={**of, "north": Away(of["north"])})
    object.__setattr__(server.context, "streams", EventStreams(server.queries, most=1))
    task = server.queries.take(wanted()).task
    with served(server_app(server.context)) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("GET", f"/v1/queries/{task}/events", headers={"Authorization": f"Bearer {ADMIN_KEY}"})
        stream = connection.getresponse()
        assert stream.readline() == b"retry: 2000\n"
        busy = follow(port, task)
        assert is_problem(busy, 503)
        assert busy.headers["retry-after"] == "10"
        server.context.streams.end()
        assert stream.read().endswith(b"\n\n")
        connection.close()
    assert server.context.streams.listeners == 0
    server.queries.stop()


def test_whose_key_has_ended_follows_no_more() -> None:
    """A stream lasts for hours, and a key that is taken out of the settings opens nothing from then on."""
    of = channels()
    server = HostedServer(channels={**of, "north": Away(of["north"])})
    task = server.queries.take(wanted()).task
    key = {"Authorization": f"Bearer {ADMIN_KEY}"}
    with served(server_app(server.context)) as port, closing(HTTPConnection("127.0.0.1", port, timeout=20)) as asked:
        asked.request("GET", f"/v1/queries/{task}/events", headers=key)
        stream = asked.getresponse()
        assert any(line.startswith(b"id: 1") for line in iter(stream.readline, b"")), "it is under way"
        server.keys.replace(replace(server.settings, admin_access=(AccessKey(Secret(b"k" * 32)),)))
        assert stream.read().endswith(b"\n\n")
    assert server.context.streams.listeners == 0
    server.queries.stop()


def test_those_who_ask_at_the_same_moment_are_counted_too() -> None:
    of = channels()
    server = HostedServer(channels={**of, "north": Away(of["north"])})
    streams = EventStreams(server.queries, most=2)
    task = server.queries.take(wanted()).task

    async def followed() -> int:
        asked = [cast(StreamingResponse, streams.response(task, None, lambda: True)) for _ in range(5)]
        bodies = [cast(AsyncGenerator[bytes], response.body_iterator) for response in asked]
        for _ in range(2):  # the pause to the next try, then the first events or the end
            for body in bodies:
                await anext(body, None)
        most = streams.listeners
        for body in bodies:
            await body.aclose()
        return most

    assert asyncio.run(followed()) == 2
    assert streams.listeners == 0
    server.queries.stop()


def test_every_fact_is_said_in_words() -> None:
    server = HostedServer()
    task = server.queries.take(wanted()).task
    answered(server, task)
    kept = server.journal.read(f"server:{task}")
    planned = server.queries._queries[task].task
    level = [1, 4, 16, 400, "olh", 3, ""]
    names = [1, 24, 0, 1698, "walsh", 4, ""]
    said = {"traces": [level], "notes": [], "groups": [], "implausible": 0}
    book = {
        "left:south": canonical_json("did not answer: \u202enobody listens"),
        "beacon:north": b"{}",
        "outcome:a:b:2": canonical_json({"kind": "list", "content": {**said, "list": ""}}),
        "outcome:c:3": canonical_json({"kind": "done", "content": {**said, "traces": [names]}}),
        "outcome:a:b:3": canonical_json({"kind": "withdrawn", "content": {**said, "traces": [], "reason": "too few"}}),
    }
    words = [(each.number, each.party, each.words) for each in events_behind(planned, book, 0)]
    assert words == [
        (1, None, "the task was signed for 2 parties"),
        (2, "south", "the query goes on without south: did not answer: \\u202enobody listens"),
        (3, "north", "the groups of the devices of north were drawn"),
        (4, "a:b", "a:b wants a list of candidates signed (level 1: 400 reports, 3 of 16 candidates kept)"),
        (5, "c", "c sent its last result (level 1: 1,698 reports, 4 names kept)"),
        (6, "a:b", "a:b withdrew: too few"),
    ]
    assert [each.number for each in events_behind(planned, book, 3)] == [4, 5, 6]
    assert events_behind(planned, kept, 0) == [*events_behind(planned, kept, 0)[:4], *events_behind(planned, kept, 4)]


def test_metrics_say_how_many_follow_and_how_far_queries_are() -> None:
    server = HostedServer()
    task = server.queries.take(wanted()).task
    answered(server, task)
    families = {family.name: family for family in server.context.collect()}
    assert families["treetop_event_listeners"].samples[0].value == 0
    (steps,) = families["treetop_query_steps"].samples
    assert steps.labels == {"task": task}
    assert steps.value >= len(SIZES)
