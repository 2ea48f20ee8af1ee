"""What travels in a Flower message: seven calls and their answers, and nothing else."""

import pytest

from treetop.federation import protocol
from treetop.federation.wire import item_lists
from treetop_flower.wire import ACTIONS, MAX_BODY_BYTES, MAX_REPLY_BYTES, Answer, Call, Malformed, call_at

TASK = "0123456789abcdef" * 4
KEY = "Bearer 00ff"


def call_of(action: str) -> Call:
    path = ACTIONS[action].path
    body = b"{}" if ACTIONS[action].method == "PUT" else b""
    return Call(action, TASK if "{task}" in path else "", 3 if "{number}" in path else 0, KEY, body)


@pytest.mark.parametrize("action", ACTIONS)
def test_a_call_arrives_as_it_was_sent(action: str) -> None:
    call = call_of(action)
    assert Call.from_values(action, dict(call.to_values())) == call
    assert call_at(call.method, call.path, KEY, call.body) == call
    assert call.message_type == f"query.{action}"


def test_an_answer_arrives_as_it_was_sent() -> None:
    answer = Answer(200, bytes(range(256)))
    assert Answer.from_values(dict(answer.to_values())) == answer


@pytest.mark.parametrize(("method", "path"), [
    ("POST", f"/v1/tasks/{TASK}/tickets"), ("POST", f"/v1/tasks/{TASK}/reports"), ("GET", "/v1/health"),
    ("GET", f"/v1/tasks/{TASK}"), ("DELETE", f"/v1/tasks/{TASK}"), ("PUT", f"/v1/tasks/{TASK}/messages/0"),
    ("PUT", f"/v1/tasks/{TASK}/messages/1/../../tickets"), ("PUT", f"/v1/tasks/{TASK.upper()}"),
    ("GET", "/v1/standing?x=1"), ("GET", "/v1/standing\n"), ("GET", ""),
])  # fmt: skip
def test_nothing_else_of_a_party_is_reached(method: str, path: str) -> None:
    assert call_at(method, path) is None


@pytest.mark.parametrize("change", [
    {"format": 2}, {"task": "../.."}, {"task": ""}, {"number": 0}, {"number": 1_000_001}, {"number": True},
    {"key": "a\r\nb"}, {"key": "k" * 513}, {"body": "text"}, {"body": bytes(MAX_BODY_BYTES + 1)}, {"more": 1},
])  # fmt: skip
def test_a_call_that_is_not_ours_is_refused(change: dict[str, object]) -> None:
    values = {**call_of("tell").to_values(), **change}
    with pytest.raises(Malformed):
        Call.from_values("tell", values)


def test_an_action_that_is_not_ours_is_refused() -> None:
    with pytest.raises(Malformed, match="action: expected install, .* found 'tickets'"):
        Call("tickets", TASK)


@pytest.mark.parametrize("change", [{"status": 100}, {"status": 600}, {"status": "200"}, {"body": "text"}])
def test_an_answer_that_is_not_ours_is_refused(change: dict[str, object]) -> None:
    with pytest.raises(Malformed):
        Answer.from_values({**Answer(200).to_values(), **change})


def test_the_key_and_the_contents_are_in_no_repr() -> None:
    assert "00ff" not in repr(call_of("tell"))
    assert "{}" not in repr(call_of("tell"))


def test_bounds_are_those_of_the_protocol() -> None:
    assert max(protocol.MAX_MESSAGE_BYTES, item_lists.MAX_LIST_BYTES) <= MAX_BODY_BYTES
    assert MAX_REPLY_BYTES == protocol.MAX_REPLY_BYTES
