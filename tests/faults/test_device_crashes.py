"""R3: a device killed with -9 at every step of its way to the party: one distinct report ever, sent in the end."""

import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from tests.support.crashing_client import KILLED
from tests.support.fake_party import FakeParty, serving
from tests.support.fleets import fleet_task, publish_level

from treetop.adapters.system.durable_file import DeviceState

ROOT = Path(__file__).parents[2]
NEVER = 10_000


class Crasher:
    """Plays a device in processes that are killed."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def play(self, url: str, state: Path, party: FakeParty, serial: int, fatal: int = NEVER) -> tuple[int, int]:
        """Return exit status and steps taken."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        ticket = party.tickets.write(party.task.digest, serial).text
        self._process.stdin.write(f"{url} {state} {party.task.digest.hex()} {ticket} {fatal}\n")
        self._process.stdin.flush()
        status, steps = self._process.stdout.readline().split()
        return int(status), int(steps)


@pytest.fixture(scope="module")
def crasher() -> Iterator[Crasher]:
    command = [sys.executable, "-m", "tests.support.crashing_client"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        yield Crasher(process)
        assert process.stdin is not None
        process.stdin.close()


def party_of(oracle: str) -> FakeParty:
    party = FakeParty(fleet_task(oracle), enrol_until=1)
    for level in (1, 2, 3):
        publish_level(party, level)
    return party


def holds(party: FakeParty, serial: int, state: Path) -> None:
    assert len(party.distinct[serial]) == 1
    kept = DeviceState(state)
    (entry,) = kept.ledger.entries
    assert entry.delivered
    assert {entry.sent} == party.distinct[serial]
    assert kept.ledger.spent == Fraction(1)
    kept.close()


@pytest.mark.parametrize("oracle", ["olh", "krr"])
def test_a_device_killed_at_any_step_sends_one_report(crasher: Crasher, tmp_path: Path, oracle: str) -> None:
    party = party_of(oracle)
    with serving(party) as url:
        status, steps = crasher.play(url, tmp_path / "whole", party, NEVER)
        assert status == 0
        assert steps > 25
        for fatal in range(steps):
            state = tmp_path / str(fatal)
            status, _ = crasher.play(url, state, party, fatal, fatal)
            assert status == KILLED or fatal > steps - 10  # a random draw that was too large is drawn again, or was
            assert len(party.distinct.get(fatal, set())) <= 1
            assert crasher.play(url, state, party, fatal)[0] == 0
            holds(party, fatal, state)


def many_crashes(crasher: Crasher, tmp_path: Path, rounds: int, oracle: str) -> None:
    """Kill each device again and again, at steps drawn at random, until a run comes to its end."""
    party, chance, kills = party_of(oracle), np.random.default_rng(3), 0
    with serving(party) as url:
        steps = max(crasher.play(url, tmp_path / str(serial), party, serial)[1] for serial in range(NEVER, NEVER + 5))
        for serial in range(rounds):
            state = tmp_path / str(serial)
            while crasher.play(url, state, party, serial, int(chance.integers(2 * steps)))[0] == KILLED:
                kills += 1
            holds(party, serial, state)
    assert kills > rounds // 4


@pytest.mark.parametrize("oracle", ["olh", "oue"])
def test_devices_killed_again_and_again_send_one_report(crasher: Crasher, tmp_path: Path, oracle: str) -> None:
    many_crashes(crasher, tmp_path, 12, oracle)


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ["olh", "krr"])
def test_many_devices_killed_again_and_again_send_one_report(crasher: Crasher, tmp_path: Path, oracle: str) -> None:
    many_crashes(crasher, tmp_path, 500, oracle)
