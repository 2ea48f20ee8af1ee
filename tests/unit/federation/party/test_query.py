"""The party's side of the exchange: numbers, bytes, kinds, and what a hostile server gets."""

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.support.federations import Federation, FixedSigner, crowd, order
from tests.support.journals import ScriptedJournal

from treetop.errors import PeerViolation, QueryFailed
from treetop.federation.party.query import PartyQuery
from treetop.federation.protocol import PartyReply, ServerMessage
from treetop.federation.wire.signed_documents import Beacon, signed

CLOSE = ServerMessage("close").to_bytes()


def federation(mode: str = "one-shot", mechanism: str = "tap") -> Federation:
    return Federation.of(order(mechanism, mode, "ab"), crowd({"a": 500, "b": 400}))


def party(asked: Federation) -> PartyQuery:
    first = asked.parties["a"]
    first.install(asked.query().document)
    return first.query(asked.task.digest)


def told(query: PartyQuery, number: int, message: ServerMessage) -> PartyReply:
    query.tell(number, message.to_bytes())
    assert query.outcome(number) is None
    assert query.work()
    data = query.outcome(number)
    assert data is not None
    return PartyReply.from_bytes(data)


def begin(message: Any = None, beacon: Any = None, roster: Any = (["a", 500], ["b", 400])) -> ServerMessage:
    return ServerMessage("begin", {"roster": [*roster], "beacon": beacon, "message": message})


def test_messages_are_told_in_order_and_once() -> None:
    query = party(federation())
    assert not query.work()
    for number in (0, 2, -1):
        with pytest.raises(PeerViolation, match="number of a message: expected 1"):
            query.tell(number, CLOSE)
    with pytest.raises(PeerViolation, match="one that was told"):
        query.outcome(1)
    query.tell(1, CLOSE)
    with pytest.raises(PeerViolation, match="number of a message: expected 1, found 2"):
        query.tell(2, begin().to_bytes())
    query.work()
    query.tell(1, CLOSE)
    with pytest.raises(PeerViolation, match="message 1: expected the same bytes as before"):
        query.tell(1, begin().to_bytes())
    with pytest.raises(PeerViolation, match="kind of a message"):
        query.tell(2, b'{"kind":"stop","content":null}')


def test_collection_is_told_with_its_groups() -> None:
    asked = federation()
    outcome = told(party(asked), 1, ServerMessage("close"))
    assert outcome.kind == "closed"
    assert (outcome.content["devices"], outcome.content["tickets"]) == (500, 500)
    assert sum(count for _, _, count in outcome.content["groups"]) == 500


def test_after_the_last_outcome_nothing_is_told() -> None:
    query = party(federation(mechanism="fedpem"))
    told(query, 1, ServerMessage("close"))
    assert not query.finished
    assert told(query, 2, begin()).kind == "done"
    assert query.finished
    with pytest.raises(PeerViolation, match="none after the last outcome"):
        query.tell(3, begin().to_bytes())
    query.tell(2, begin().to_bytes())


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (ServerMessage("say", {"message": None}), "kind of the message after closed: expected begin, found say"),
        (ServerMessage("begin", {}), "fields of begin"),
        (begin(roster=(["a", 501], ["b", 400])), "a with 500 devices"),
        (begin(roster=(["b", 400],)), "a with 500 devices"),
        (begin(roster=(["a", 500], ["b", 1], ["b", 2])), "every party once"),
        (begin(roster=(["a", 500], ["b", -1])), "users: expected from 1"),
        (begin(message={"shared": ["9"]}), "shared prefixes: expected of 2 bits"),
        (begin(message={"shared": []}), "number of shared prefixes"),
        (begin(message={"shared": "1"}), "a list, found str"),
        (begin(message={"shared": ["1"]}), "message: expected none but after a shallow trie"),
        (begin(message=3), "an object"),
    ],
)
def test_a_message_that_cannot_be_used_makes_the_party_withdraw(message: ServerMessage, reason: str) -> None:
    query = party(federation())
    told(query, 1, ServerMessage("close"))
    outcome = told(query, 2, message)
    assert outcome.kind == "withdrawn"
    assert reason in outcome.content["reason"]


def test_a_party_without_the_tasks_mechanism_withdraws() -> None:
    asked = federation()
    party(asked)
    task = replace(asked.task, mechanism="halves")
    query = PartyQuery(task, "a", ScriptedJournal(), asked.parties["a"].collection[asked.task.digest])
    told(query, 1, ServerMessage("close"))
    outcome = told(query, 2, begin())
    assert (outcome.kind, outcome.content["reason"]) == ("withdrawn", "the mechanism 'halves' is not known here")


def beacon(asked: Federation, **changed: Any) -> str:
    devices = len(asked.parties["a"].codes)
    first = party(asked)
    closed = json.loads(first.outcome(1) or b"")["content"]
    told_beacon = Beacon(**{
        "task": asked.task.digest, "party": "a", "devices": devices,
        "enrolment": bytes.fromhex(closed["digest"]), "beacon": bytes(32), **changed,
    })  # fmt: skip
    return signed("beacon", told_beacon.to_bytes(), FixedSigner()).decode()


@pytest.mark.parametrize("changed", [{"party": "b"}, {"devices": 499}, {"enrolment": bytes(32)}, {"task": bytes(32)}])
def test_a_beacon_for_another_enrolment_is_refused(changed: dict[str, Any]) -> None:
    asked = federation("rounds")
    query = party(asked)
    told(query, 1, ServerMessage("close"))
    outcome = told(query, 2, begin(beacon=beacon(asked, **changed)))
    assert outcome.kind == "withdrawn"
    assert "one for this enrolment" in outcome.content["reason"]


def test_only_the_own_list_is_shown_to_devices() -> None:
    asked = federation("rounds")
    query = party(asked)
    told(query, 1, ServerMessage("close"))
    listed = told(query, 2, begin(beacon=beacon(asked)))
    assert listed.kind == "list"
    other = signed("list", listed.content["list"].replace('"0"', '"00"').encode(), FixedSigner()).decode()
    outcome = told(query, 3, ServerMessage("publish", {"document": other}))
    assert outcome.kind == "withdrawn"
    assert "signed list: expected the own one" in outcome.content["reason"]


def test_a_restarted_party_knows_what_it_was_told() -> None:
    asked = federation()
    query = party(asked)
    told(query, 1, ServerMessage("close"))
    query.tell(2, begin().to_bytes())
    again = PartyQuery(asked.task, "a", asked.parties["a"].journal, asked.parties["a"].collection[asked.task.digest])
    assert again.outcome(2) is None
    assert again.work()
    assert not again.work()
    assert query.work() or query.outcome(2) == again.outcome(2)


def test_a_second_list_for_a_group_is_refused_and_logged() -> None:
    """T2: a party restored from an old backup asks for another list than the one that was signed."""
    asked = federation("rounds")
    asked.query().run()
    digest = asked.task.digest.hex()
    for book in (f"server:{digest}",):
        del asked.journal.kept[book]
    other = Federation.of(asked.order, crowd({"a": 500, "b": 400}, favourites=(3, 99, 141)), journal=asked.journal)
    with pytest.raises(QueryFailed, match="candidate list of the group of level 2 .* the one that was signed before"):
        other.query().run()
    refused = [entry for entry in asked.journal.read(f"log:{digest}") if entry.startswith("refused:")]
    assert len(refused) == 1
    assert isinstance(other.journal, ScriptedJournal)
