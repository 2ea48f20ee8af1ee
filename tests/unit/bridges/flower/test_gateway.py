"""Calls that wait for a party, and answers that wait for the server."""

from threading import Thread

import pytest

from treetop_flower import gateway as module
from treetop_flower.gateway import HEARD_SECONDS, Gateway, NoAnswer
from treetop_flower.wire import Answer, Call

TASK = "ab" * 32
TELL = Call("tell", TASK, 1, "Bearer k", b"{}")
OUTCOME = Call("outcome", TASK, 1, "Bearer k")
STANDING = Call("standing", key="Bearer k")


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def gateway(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Gateway:
    for name in ("HANDED_OVER", "LOOKED_AT"):  # nobody waits: what is under way is not there yet
        patience = getattr(module, name)
        monkeypatch.setattr(module, name, module.Patience(0.0, patience.fresh, patience.stale))
    monkeypatch.setattr(module, "_PATIENCE", {
        "outcome": module.WAITED_FOR, "progress": module.LOOKED_AT, "standing": module.LOOKED_AT
    })  # fmt: skip
    made = Gateway(frozenset({"north", "south"}), longest_pause=8.0, clock=clock)
    made.connected(frozenset({"north", "south"}))
    return made


def ask(gateway: Gateway, call: Call, party: str = "north") -> int | str:
    try:
        return gateway.ask(party, call).status
    except NoAnswer as why:
        return str(why)


def test_a_repeated_call_is_one_message(gateway: Gateway, clock: Clock) -> None:
    assert ask(gateway, TELL) == ask(gateway, TELL) == "its answer is under way"
    (sent,) = gateway.take()
    assert gateway.take() == []
    assert ask(gateway, TELL) == "its answer is under way"
    gateway.arrived(sent, Answer(202))
    assert ask(gateway, TELL) == ask(gateway, TELL) == 202
    assert gateway.take() == []
    clock.now += 61  # the party may have lost it since: it is asked again
    assert ask(gateway, TELL) == "its answer is under way"
    assert [each.call for each in gateway.take()] == [TELL]


@pytest.mark.parametrize("other", [
    Call("tell", TASK, 2, "Bearer k", b"{}"), Call("tell", TASK, 1, "Bearer x", b"{}"),
    Call("tell", TASK, 1, "Bearer k", b"[]"), Call("tell", "cd" * 32, 1, "Bearer k", b"{}"),
])  # fmt: skip
def test_an_answer_is_for_the_same_call_with_the_same_key_alone(gateway: Gateway, other: Call) -> None:
    ask(gateway, TELL)
    gateway.arrived(gateway.take()[0], Answer(202))
    assert ask(gateway, other) == "its answer is under way"
    assert ask(gateway, TELL, "south") == "its answer is under way"
    assert {(each.party, each.call) for each in gateway.take()} == {("north", other), ("south", TELL)}


def test_whoever_waits_is_told_at_once(clock: Clock) -> None:
    gateway = Gateway(frozenset({"north"}), 8.0)
    gateway.connected(frozenset({"north"}))
    told: list[int | str] = []
    waiting = Thread(target=lambda: told.append(ask(gateway, TELL)))
    waiting.start()
    while not (taken := gateway.take()):
        waiting.join(0.01)
    gateway.arrived(taken[0], Answer(202))
    waiting.join(5)
    assert told == [202]


def test_a_party_at_work_is_asked_less_and_less_often(gateway: Gateway, clock: Clock) -> None:
    gaps, asked = [], clock.now
    for _ in range(7):
        while not (taken := gateway.take()):
            clock.now += 0.25
            ask(gateway, OUTCOME)
        gaps.append(clock.now - asked)
        asked = clock.now
        gateway.arrived(taken[0], Answer(202))
    assert gaps == [0.25, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_a_party_at_work_is_said_to_be_for_as_long_as_its_node_is_heard(gateway: Gateway, clock: Clock) -> None:
    assert ask(gateway, OUTCOME) == "its answer is under way"  # it was never heard
    gateway.arrived(gateway.take()[0], Answer(202))
    clock.now += HEARD_SECONDS - 1
    assert ask(gateway, OUTCOME) == 202
    clock.now += 2
    assert ask(gateway, OUTCOME) == "its answer is under way"
    gateway.failed(gateway.take()[0], "its node did not answer")
    assert ask(gateway, OUTCOME) == "its answer is under way"  # by another message
    assert len(gateway.take()) == 1


def test_after_a_message_was_taken_the_party_is_at_work(gateway: Gateway) -> None:
    ask(gateway, TELL)
    gateway.arrived(gateway.take()[0], Answer(202))
    assert ask(gateway, OUTCOME) == 202
    gateway.arrived(gateway.take()[0], Answer(200, b"outcome"))
    assert gateway.ask("north", OUTCOME) == gateway.ask("north", OUTCOME) == Answer(200, b"outcome")


@pytest.mark.parametrize("status", [401, 404, 409, 502, 503])
def test_a_refusal_is_told_once_and_then_asked_for_again(gateway: Gateway, status: int) -> None:
    ask(gateway, TELL)
    gateway.arrived(gateway.take()[0], Answer(status, b"no"))
    assert gateway.ask("north", TELL) == Answer(status, b"no")
    assert ask(gateway, TELL) == "its answer is under way"
    assert len(gateway.take()) == 1


def test_a_look_is_shown_again_while_the_next_is_under_way(gateway: Gateway, clock: Clock) -> None:
    ask(gateway, STANDING)
    gateway.arrived(gateway.take()[0], Answer(200, b"{}"))
    clock.now += 4
    assert (ask(gateway, STANDING), gateway.take()) == (200, [])
    clock.now += 2
    assert (ask(gateway, STANDING), len(gateway.take())) == (200, 1)
    clock.now += 60
    assert ask(gateway, STANDING) == "its answer is under way"


def test_a_node_that_is_not_connected_is_not_waited_for() -> None:
    gateway = Gateway(frozenset({"north"}), 8.0)
    assert ask(gateway, TELL) == "its node is not connected"


def test_memory_is_bounded(gateway: Gateway, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_EXCHANGES", 3)
    calls = [Call("outcome", TASK, number, "Bearer k") for number in range(1, 6)]
    assert [ask(gateway, call) for call in calls][-2:] == ["too many calls are under way"] * 2
    for taken in gateway.take():
        gateway.arrived(taken, Answer(200, bytes(100)))
    clock.now += 601
    assert ask(gateway, calls[3]) == "its answer is under way"
    monkeypatch.setattr(module, "MAX_KEPT_BYTES", 150)
    gateway.arrived(gateway.take()[0], Answer(200, bytes(100)))
    for call in calls[:1]:
        ask(gateway, call)
        clock.now += 1
        gateway.arrived(gateway.take()[0], Answer(200, bytes(100)))
    assert ask(gateway, calls[0]) == 200
    assert gateway.take() == []
    assert ask(gateway, calls[3]) != 200


def test_calls_under_way_are_bounded_by_their_bytes(gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand lists of 32 MiB, for a party that is away or not, would be 32 GB."""
    monkeypatch.setattr(module, "MAX_KEPT_BYTES", 1000)
    lists = [Call("list", TASK, 0, "Bearer k", bytes([number]) * 400) for number in range(3)]
    assert [ask(gateway, call) for call in lists] == ["its answer is under way"] * 2 + ["too many calls are under way"]
    first, second = gateway.take()
    gateway.failed(first, "its node is not connected")
    gateway.arrived(second, Answer(204))
    assert [ask(gateway, call) for call in lists[1:]] == [204, "its answer is under way"]
    assert sum(len(each.call.body) for each in gateway._exchanges.values()) == 400
    assert ask(gateway, lists[0]) == "its answer is under way"
    assert {each.call for each in gateway.take()} == {lists[2], lists[0]}  # whole again
    gateway.failed(first, "its node is not connected")
    assert ask(gateway, Call("list", TASK, 0, "Bearer k", bytes(600))) == "its answer is under way"
    assert ask(gateway, lists[0]) == "too many calls are under way"
