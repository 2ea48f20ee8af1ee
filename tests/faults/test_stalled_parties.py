"""R7 with real processes: one of three parties stops in mid-query, under both policies, and comes back."""

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.support.running_federation import RunningFederation

SIZES = {"north": 400, "south": 300, "west": 200}
STALLED = "south"
PATIENCE = 15
"""Seconds: short, and longer than a party needs to load what counts reports, on a slow machine too."""


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningFederation]:
    made = RunningFederation(tmp_path, SIZES)
    with made.processes:
        made.start()
        yield made


def stalled_query(running: RunningFederation, policy: str) -> str:
    """Ask, let everybody report but the last party's devices, then stop a party; return the task."""
    task = running.order(policy=policy, patience=PATIENCE)
    with ThreadPoolExecutor(2) as pool:
        fleets = [pool.submit(running.play, name, task) for name in ("north", STALLED)]
        for fleet in fleets:
            fleet.result()
    running.signal(STALLED, signal.SIGSTOP)
    running.play("west", task)
    return task


def test_a_stalled_party_is_left_out_and_does_no_harm_when_it_returns(running: RunningFederation) -> None:
    task = stalled_query(running, "proceed")
    result = running.result(task)
    assert [row["item"] for row in result["items"]] == ["200", "77", "9"]
    (missing,) = result["missing"]
    assert missing["name"] == STALLED
    assert "did not answer" in missing["reason"]
    assert {party["name"]: party["users"] for party in result["parties"]} == {"north": 400, "west": 200}
    assert result["covered"]["share"] == pytest.approx(600 / 900)
    running.signal(STALLED, signal.SIGCONT)
    assert b'"ok"' in running.ask(STALLED, "/v1/health")
    time.sleep(1)  # whatever it was about to say, it says now
    assert running.result(task) == result
    assert running.counter("server", "treetop_parties_left_out_total") == 1
    assert any('"party_left_out"' in line for line in running.server.lines())


def test_a_query_that_waits_fails_by_name_and_is_resumed_to_the_full_answer(running: RunningFederation) -> None:
    task = stalled_query(running, "wait")
    assert f"no answer from '{STALLED}'" in running.failure(task)
    running.signal(STALLED, signal.SIGCONT)
    assert running.order(policy="wait", patience=600) == task, "the same order is the same query"
    result = running.result(task)
    assert result["missing"] == []
    assert {party["name"]: party["users"] for party in result["parties"]} == SIZES
    assert [row["item"] for row in result["items"]] == ["200", "77", "9"]
