"""R8: a bad network between fleet and party and between server and party; every device counts once all the same."""

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.support.fault_proxy import FaultProxy, Weather
from tests.support.running_federation import RunningFederation

from treetop.federation.wire.uploads import decoded_upload


@dataclass(frozen=True)
class Storm:
    """What happens, to whom."""

    sizes: dict[str, int]
    weather: Weather
    cuts: tuple[float, ...]
    """Seconds that everything is cut, one after the other."""
    mode: str = "one-shot"
    seed: int = 1
    tables: str = ""


def weather_of(storm: Storm, running: RunningFederation, stack: ExitStack) -> tuple[dict[str, FaultProxy], Any]:
    """Return the proxies that the server meets, and what opens them."""
    proxies: dict[str, FaultProxy] = {}

    def through(name: str, port: int) -> int:
        proxies[name] = stack.enter_context(FaultProxy(port, storm.weather, storm.seed + len(proxies)))
        return proxies[name].port

    return proxies, through


def survive(folder: Path, storm: Storm) -> None:
    running = RunningFederation(folder, storm.sizes)
    running.party_tables = storm.tables
    with running.processes, ExitStack() as stack, ThreadPoolExecutor(len(storm.sizes)) as pool:
        server_side, for_server = weather_of(storm, running, stack)
        device_side, for_devices = weather_of(storm, running, stack)
        running.start(for_server)
        task = running.order(mode=storm.mode)
        fleets = running.play_all(pool, task, for_devices)
        for seconds in storm.cuts:
            time.sleep(0.5)
            for proxy in (*server_side.values(), *device_side.values()):
                proxy.cut(seconds)
            time.sleep(seconds)
        totals = [fleet.result() for fleet in fleets]
        result = running.result(task)
        accepted = {name: running.counter(name, 'treetop_verdicts_total{verdict="accepted"}') for name in storm.sizes}
    for name, total in zip(storm.sizes, totals, strict=True):
        assert sum(total.verdicts.get(verdict, 0) for verdict in ("accepted", "replayed")) == storm.sizes[name]
    assert {party["name"]: party["users"] for party in result["parties"]} == storm.sizes
    assert result["missing"] == []
    assert [row["item"] for row in result["items"]] == ["200", "77", "9"]
    assert accepted == {name: size * (1 if storm.mode == "one-shot" else 2) for name, size in storm.sizes.items()}
    for name, proxy in device_side.items():
        check_reports(proxy, storm.sizes[name])
        assert not {"cut", *storm.weather.deck} - proxy.happened.keys(), proxy.happened
    assert sum((proxy.happened for proxy in server_side.values()), start=type(proxy.happened)())["lose response"]


def check_reports(proxy: FaultProxy, devices: int) -> None:
    """Every device sent one report, however often."""
    reports: dict[bytes, set[bytes]] = defaultdict(set)
    sent = 0
    for line, body in proxy.requests:
        if line.startswith("POST") and "/reports" in line:
            for entry in decoded_upload(body):
                reports[entry.ticket].add(entry.batch)
                sent += 1
    assert len(reports) == devices
    assert all(len(distinct) == 1 for distinct in reports.values())
    assert sent > devices, "some were sent again"


SMALL = {"north": 700, "south": 500}


@pytest.mark.parametrize("mode", ["one-shot", "rounds"])
def test_every_device_counts_once_over_a_bad_network(tmp_path: Path, mode: str) -> None:
    survive(tmp_path, Storm(SMALL, Weather(latency=0.02), (1.0,), mode))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["one-shot", "rounds"])
@pytest.mark.parametrize("seed", [1])
def test_every_device_counts_once_over_a_very_bad_network(tmp_path: Path, mode: str, seed: int) -> None:
    """Latency of 200 ms, cuts of 5 s, and requests that trickle in for longer than the party listens."""
    weather = Weather(latency=0.2, trickle_seconds=2.5)
    storm = Storm({"north": 1500, "south": 1000}, weather, (5.0, 0.5, 5.0), mode, seed, "[limits]\nbody_seconds = 2\n")
    survive(tmp_path, storm)
