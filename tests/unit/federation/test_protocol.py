"""The table of messages and replies, walked from its beginning."""

from typing import Any, get_args

import pytest

from treetop.errors import PeerViolation
from treetop.federation.protocol import MESSAGES, REPLIES, MessageKind, PartyReply, ReplyKind, ServerMessage


def filled(parts: tuple[str, ...]) -> dict[str, int]:
    return dict.fromkeys(parts, 1)


def test_every_kind_has_a_rule_and_every_reply_one_successor_or_none() -> None:
    assert set(MESSAGES) == set(get_args(MessageKind))
    assert set(REPLIES) == set(get_args(ReplyKind))
    followed = [rule.after for rule in MESSAGES.values()]
    assert len(set(followed)) == len(followed)
    assert {kind for kind in REPLIES if PartyReply(kind).is_last} == {"done", "withdrawn"}


def test_every_message_can_be_reached_and_every_way_can_end() -> None:
    reached: set[MessageKind | None] = set()
    waiting: list[ReplyKind | None] = [None]
    while waiting:
        after = waiting.pop()
        for kind, rule in MESSAGES.items():
            if rule.after == after and kind not in reached:
                reached.add(kind)
                waiting += rule.replies
    assert reached == set(MESSAGES)
    for rule in MESSAGES.values():
        assert rule.replies == ("closed",) or {"done", "withdrawn"} <= set(rule.replies)


@pytest.mark.parametrize("after", [None, *REPLIES])
@pytest.mark.parametrize("kind", MESSAGES)
def test_a_party_takes_the_one_message_that_may_follow(kind: MessageKind, after: ReplyKind | None) -> None:
    message = ServerMessage(kind, filled(MESSAGES[kind].parts) or None)
    if MESSAGES[kind].after == after:
        assert message.parts_after(after) == filled(MESSAGES[kind].parts)
        wrong: list[Any] = [{**filled(MESSAGES[kind].parts), "more": 1}, [], 3, ""]
        for content in wrong:
            with pytest.raises(PeerViolation):
                ServerMessage(kind, content).parts_after(after)
    else:
        with pytest.raises(PeerViolation, match="kind of the message after"):
            message.parts_after(after)


@pytest.mark.parametrize("one_shot", [True, False])
@pytest.mark.parametrize("message", MESSAGES)
@pytest.mark.parametrize("kind", REPLIES)
def test_a_server_takes_the_replies_that_a_message_may_have(
    kind: ReplyKind, message: MessageKind, one_shot: bool
) -> None:
    reply, parts = PartyReply(kind, filled(REPLIES[kind].parts)), filled(REPLIES[kind].parts)
    if kind in MESSAGES[message].replies and not (one_shot and kind == "list"):
        assert reply.parts_to(message, one_shot=one_shot) == parts
        wrong: list[Any] = [{**parts, "more": 1}, dict(list(parts.items())[1:]), None, []]
        for content in wrong:
            with pytest.raises(PeerViolation):
                PartyReply(kind, content).parts_to(message, one_shot=one_shot)
    else:
        with pytest.raises(PeerViolation, match=f"kind of the reply to {message}: expected .*, found {kind}"):
            reply.parts_to(message, one_shot=one_shot)
