"""What queries of one process share: one counts at a time, and a few keep what they counted."""

from functools import partial
from threading import Thread

import pytest
from tests.support import federations
from tests.support.federations import Federation, crowd, order

from treetop.federation.party.query import PartyQuery
from treetop.federation.protocol import ServerMessage
from treetop.services.party.query_workers import CountingTurns

PARTIES = "ab"


def asked(mode: str, mechanism: str = "panorama") -> Federation:
    return Federation.of(order(mechanism, mode, PARTIES), crowd({"a": 500, "b": 400}))


def test_whoever_has_kept_longest_forgets() -> None:
    turns, forgotten = CountingTurns(2), list[str]()
    for name in ("one", "two", "one", "three"):  # "one" was used again since "two"
        turns.keep(name.encode(), partial(forgotten.append, name))
    assert forgotten == ["two"]
    turns.drop(b"one")
    turns.keep(b"four", partial(forgotten.append, "four"))
    assert forgotten == ["two"]
    turns.drop(b"nobody")


@pytest.mark.parametrize("max_kept", [0, 1])
def test_what_was_forgotten_is_counted_again_and_says_the_same(max_kept: int, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = asked("one-shot").query().run().content
    monkeypatch.setattr(federations, "PartyQuery", partial(PartyQuery, turns=CountingTurns(max_kept)))
    assert asked("one-shot").query().run().content == expected


def query_of(mode: str, turns: CountingTurns) -> PartyQuery:
    """A query whose party has its reports, or its enrolment, before it is asked to count."""
    whole = asked(mode, "panorama" if mode == "one-shot" else "tap")
    first = whole.parties["a"]
    first.install(whole.query().document)
    digest = whole.task.digest
    query = PartyQuery(whole.task, "a", first.journal, first.collection[digest], turns)
    query.tell(1, ServerMessage("close").to_bytes())
    return query


def test_collecting_waits_for_nobody_and_counting_for_its_turn() -> None:
    turns = CountingTurns()
    with turns.turn:
        query = query_of("one-shot", turns)
        assert query.work()  # the first message waits for devices, so it must not hold up others
        begin = {"roster": [["a", 500], ["b", 400]], "beacon": None, "message": None}
        query.tell(2, ServerMessage("begin", begin).to_bytes())
        counting = Thread(target=query.work)
        counting.start()
        counting.join(0.3)
        assert counting.is_alive()
        assert query.outcome(2) is None
    counting.join(60)
    assert query.outcome(2) is not None


def test_rounds_take_no_turns_since_every_level_waits_for_devices() -> None:
    turns = CountingTurns()
    with turns.turn:
        query = query_of("rounds", turns)
        assert query.work()
        query.tell(2, ServerMessage("begin", {"roster": [], "beacon": None, "message": None}).to_bytes())
        assert query.work()  # it withdraws, without waiting
