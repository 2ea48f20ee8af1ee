"""One run is kept going, and keys are registered before anybody connects."""

import pytest

from treetop_flower.keeper import (
    REGISTER_AGAIN_SECONDS,
    SILENT_SECONDS,
    STARTING_SECONDS,
    Carrying,
    ControlFailed,
    Keeper,
)

KEYS = {"north": "key 1", "south": "key 2"}
ALL = frozenset(KEYS)


class FakeControl:
    """SuperLink's control API."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.down = False
        self.runs = 0

    def register(self, party: str, public_key: str) -> None:
        self._do(f"register {party} {public_key}")

    def run(self) -> str:
        self._do("run")
        self.runs += 1
        return f"r{self.runs}"

    def stop(self, run: str) -> None:
        self.done.append(f"stop {run}")
        raise ControlFailed("no such run")

    def _do(self, what: str) -> None:
        if self.down:
            raise ControlFailed("SuperLink is away")
        self.done.append(what)


class Case:
    def __init__(self) -> None:
        self.now = 0.0
        self.control = FakeControl()
        self.healthy: Carrying | None = None
        self.said: list[str] = []
        self.keeper = Keeper(self.control, KEYS, lambda: self.healthy, self.said.append, lambda: self.now)

    def look(self, after: float = 1.0) -> list[str]:
        self.now += after
        self.control.done.clear()
        self.keeper.look()
        return list(self.control.done)


@pytest.fixture
def case() -> Case:
    return Case()


def test_keys_are_registered_and_a_run_is_started_once(case: Case) -> None:
    assert case.look() == ["register north key 1", "register south key 2", "run"]
    assert case.look() == []
    case.healthy = Carrying("r1", ALL)
    assert case.look() == []
    assert case.said == ["registered: north, south", "run r1 is started", "run r1 carries"]


def test_superlink_is_waited_for_and_its_absence_said_once(case: Case) -> None:
    case.control.down = True
    for _ in range(5):
        assert case.look() == []
    assert case.said == ["SuperLink is away"]
    case.control.down = False
    assert case.look()[-1] == "run"


def test_a_run_that_does_not_begin_is_replaced(case: Case) -> None:
    case.look()
    assert case.look(STARTING_SECONDS - 1) == []
    assert case.look(2) == ["stop r1", "run"]


def test_a_run_that_was_lost_is_replaced_soon(case: Case) -> None:
    case.look()
    case.healthy = Carrying("r1", ALL)
    case.look()
    case.healthy = None
    assert case.look() == []
    assert case.look(SILENT_SECONDS) == ["stop r1", "run"]
    assert case.look(SILENT_SECONDS + 1) == []  # the new one may take its time
    case.healthy = Carrying("r2", ALL)
    case.look()
    assert case.said[-3:] == ["run r1 has ended", "run r2 is started", "run r2 carries"]


def test_a_run_of_an_earlier_keeper_is_left_alone(case: Case) -> None:
    case.healthy = Carrying("r9", ALL)
    assert case.look() == []
    assert case.said == ["run r9 carries"]


def test_keys_of_nodes_that_stay_away_are_registered_again(case: Case) -> None:
    case.look()
    case.healthy = Carrying("r1", frozenset({"north"}))
    assert case.look() == []
    assert case.look(REGISTER_AGAIN_SECONDS) == ["register south key 2"]
    assert case.look() == []
