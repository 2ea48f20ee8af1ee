"""A log that machines read: one line a second from clients, and nothing that must not be read."""

import json
import logging
from io import StringIO

from tests.support.clocks import HandClock

from treetop.adapters.system.telemetry import StructuredLog, take_over


def lines(stream: StringIO) -> list[dict[str, object]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_clients_cause_one_line_a_second() -> None:
    stream, clock = StringIO(), HandClock()
    log = StructuredLog(stream, clock)
    for _ in range(1000):
        log.client("refused")
        clock.passed += 0.0101
    told = lines(stream)
    assert 9 <= len(told) <= 11
    assert sum(int(str(line["left_out"])) for line in told) + len(told) > 900
    log.say("own")
    log.say("own")
    assert [line["event"] for line in lines(stream)][-2:] == ["own", "own"]


def test_of_an_exception_its_kind_and_place_are_told() -> None:
    stream = StringIO()
    log = StructuredLog(stream, HandClock())
    try:
        raise KeyError("canary")
    except KeyError as error:
        log.failure("internal_error", error)
    (told,) = lines(stream)
    assert told["kind"] == "KeyError"
    assert "test_of_an_exception_its_kind_and_place_are_told" in str(told["places"])
    assert "canary" not in stream.getvalue()


def test_libraries_tell_no_arguments_and_no_texts_of_exceptions() -> None:
    stream = StringIO()
    take_over(StructuredLog(stream, HandClock()), "some.library")
    logger = logging.getLogger("some.library")
    try:
        raise ValueError("canary")
    except ValueError:
        logger.exception("request of %s failed\n%s", "canary", "canary")
    logger.info("canary")
    (told,) = lines(stream)
    assert (told["message"], told["kind"]) == ("request of %s failed", "ValueError")
    assert "canary" not in stream.getvalue()
