"""R2: server or party killed at any moment of a query; the resumed query gives the same bytes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from tests.support.federations import Federation, InMemoryParty, crowd, naming, order
from tests.support.fixed_entropy import FixedEntropy
from tests.support.journals import Crash, ScriptedJournal, crashing

from treetop.adapters.memory.ports import MemoryChannel
from treetop.errors import PartyUnreachable
from treetop.federation.service_ports import Collected, Counting, ReportCollection
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.signed_documents import PublishedList
from treetop.oracles.frequency_oracle import Columns, Tally
from treetop.trie.user_groups import Group

BOTH = pytest.mark.parametrize("mode", ["one-shot", "rounds"])
CODES = crowd({"a": 900, "b": 700, "c": 500})
MOMENTS = ("before", "after")
HOLDERS = {"a": {"ab": 500, "cd": 250, "ef": 150}, "b": {"ef": 400, "ab": 300}, "c": {"cd": 300, "xy": 200}}
TEXTS = {"bits": 10, "text_chunks": 1, "text_share": 0.4}


class SameBytes:
    """The server's randomness: what it draws again after a crash is what it drew before."""

    def read(self, count: int) -> bytes:
        return b"\7" * count


def federation(mode: str, mechanism: str = "taps") -> Federation:
    if mechanism == "panorama":  # a list and texts: every message that there is
        return naming(HOLDERS, word_list=ItemList(("ab", "cd")), epsilon="2", settings=TEXTS)
    return Federation.of(order(mechanism, mode, "abc", epsilon="2"), CODES, entropy=SameBytes())


@pytest.mark.parametrize(("mechanism", "mode"), [
    ("taps", "one-shot"), ("taps", "rounds"), ("canopy", "one-shot"), ("canopy", "rounds"), ("panorama", "one-shot"),
])  # fmt: skip
def test_the_server_killed_at_every_journal_write_gives_the_same_bytes(mode: str, mechanism: str) -> None:
    whole = federation(mode, mechanism)
    expected, points = whole.query().run().document, 0
    for write in range(1, whole.journal.writes + 1):
        for moment in MOMENTS:
            asked = federation(mode, mechanism)
            with crashing(asked.journal, write, moment), pytest.raises(Crash):
                asked.query().run()
            assert asked.query().run().document == expected, (write, moment)
            points += 1
    assert points >= {"one-shot": 20, "rounds": 50}[mode]


class KilledAtCall(MemoryChannel):
    """The server dies before or after its n-th call to any party."""

    calls = 0
    crash_at: tuple[int, str] | None = None

    def _around(self, call: Any, *arguments: Any) -> Any:
        KilledAtCall.calls += 1
        self._crash("before")
        answer = call(*arguments)
        self._crash("after")
        return answer

    def _crash(self, moment: str) -> None:
        if KilledAtCall.crash_at == (KilledAtCall.calls, moment):
            raise Crash(moment)

    def install(self, document: bytes) -> None:
        self._around(super().install, document)

    def give_list(self, task: bytes, document: bytes) -> None:
        self._around(super().give_list, task, document)

    def tell(self, task: bytes, number: int, message: bytes) -> None:
        self._around(super().tell, task, number, message)

    def outcome(self, task: bytes, number: int) -> bytes | None:
        answer: bytes | None = self._around(super().outcome, task, number)
        return answer


def watched(mode: str, crash_at: tuple[int, str] | None, mechanism: str = "taps") -> Federation:
    asked = federation(mode, mechanism)
    asked.channels = {name: KilledAtCall(name, party) for name, party in asked.parties.items()}
    KilledAtCall.calls, KilledAtCall.crash_at = 0, crash_at
    return asked


@pytest.mark.parametrize("mechanism", ["taps", "panorama"])
def test_the_server_killed_at_every_call_to_a_party_gives_the_same_bytes(mechanism: str) -> None:
    expected = watched("one-shot", None, mechanism).query().run().document
    calls = KilledAtCall.calls
    for call in range(1, calls + 1):
        for moment in MOMENTS:
            asked = watched("one-shot", (call, moment), mechanism)
            with pytest.raises(Crash):
                asked.query().run()
            assert asked.query().run().document == expected, (call, moment)
    assert 2 * calls >= 30


@pytest.mark.parametrize("mode", ["one-shot", "rounds"])
def test_a_resumed_server_asks_nothing_that_was_answered(mode: str) -> None:
    """Were the journal ignored, the first messages would be told again."""
    asked = watched(mode, None)
    with crashing(asked.journal, 9, "after"), pytest.raises(Crash):
        asked.query().run()
    first, KilledAtCall.calls = KilledAtCall.calls, 0
    asked.query().run()
    rest, KilledAtCall.calls = KilledAtCall.calls, 0
    watched(mode, None).query().run()
    assert rest < KilledAtCall.calls
    assert first + rest <= KilledAtCall.calls + 4  # the message in flight is told and polled again


class RestartedParty(MemoryChannel):
    """A party that dies and comes back: its devices and its journal are still there."""

    def __init__(self, name: str, party: InMemoryParty) -> None:
        super().__init__(name, party)
        self.party, self.name, self.deaths = party, name, 0

    def tell(self, task: bytes, number: int, message: bytes) -> None:
        try:
            super().tell(task, number, message)
        except Crash:
            self._die()

    def outcome(self, task: bytes, number: int) -> bytes | None:
        try:
            return super().outcome(task, number)
        except Crash:
            self._die()
        raise AssertionError

    def _die(self) -> None:
        self.party.restart()
        self.deaths += 1
        raise PartyUnreachable(self.name, "it is starting")


class CountingReportCollection:
    """Passes everything on and counts what must not happen twice."""

    def __init__(self, work: ReportCollection) -> None:
        self._work = work
        self.tallied: list[tuple[Group, ...]] = []

    def close(self) -> Collected:
        return self._work.close()

    def publish_beacon(self, document: bytes) -> Mapping[Group, int]:
        return self._work.publish_beacon(document)

    def publish_list(self, document: bytes, listed: PublishedList) -> None:
        self._work.publish_list(document, listed)

    def gather(self, group: Group) -> int:
        return self._work.gather(group)

    def tally(self, groups: Sequence[Group], counting: Counting) -> Tally:
        self.tallied.append(tuple(groups))
        return self._work.tally(groups, counting)

    def reports(self, group: Group, counting: Counting) -> Iterator[Columns]:
        return self._work.reports(group, counting)

    def item_list(self) -> bytes | None:
        return self._work.item_list()

    def implausible(self, groups: Sequence[Group], counting: Counting) -> int:
        return self._work.implausible(groups, counting)


def restarting(mode: str, name: str, mechanism: str = "taps") -> tuple[Federation, RestartedParty, ScriptedJournal]:
    asked = federation(mode, mechanism)
    party = asked.parties[name]
    party.dressed = CountingReportCollection
    channel = asked.channels[name] = RestartedParty(name, party)
    assert isinstance(party.journal, ScriptedJournal)
    return asked, channel, party.journal


@BOTH
def test_a_party_killed_at_every_journal_write_gives_the_same_bytes(mode: str) -> None:
    whole, _, journal = restarting(mode, "b")
    expected = whole.query().run().document
    for write in range(1, journal.writes + 1):
        for moment in MOMENTS:
            asked, channel, journal = restarting(mode, "b")
            with crashing(journal, write, moment):
                found = asked.query().run().document
            assert found == expected, (write, moment)
            assert channel.deaths == 1
            work = asked.parties["b"].collection[asked.task.digest]
            assert isinstance(work, CountingReportCollection)
            assert len(work.tallied) - len(set(work.tallied)) <= 1, "replay counts again at most what was not kept"


def test_a_party_that_counts_names_killed_at_every_journal_write_gives_the_same_bytes() -> None:
    """Reports of names are not tallied but read again: what they say to every question is the same."""
    whole, _, journal = restarting("one-shot", "b", "panorama")
    expected = whole.query().run().document
    replies = whole.parties["b"].journal.read(f"party:b:{whole.task.digest.hex()}")
    for write in range(1, journal.writes + 1):
        for moment in MOMENTS:
            asked, channel, journal = restarting("one-shot", "b", "panorama")
            with crashing(journal, write, moment):
                assert asked.query().run().document == expected, (write, moment)
            assert channel.deaths == 1
            assert asked.parties["b"].journal.read(f"party:b:{whole.task.digest.hex()}") == replies
    assert journal.writes >= 10


def test_a_replay_counts_nothing_that_was_kept() -> None:
    asked, channel, _ = restarting("one-shot", "b")
    asked.query().run()
    work = asked.parties["b"].collection[asked.task.digest]
    assert isinstance(work, CountingReportCollection)
    counted = list(work.tallied)
    channel.party.restart()
    query = channel.party.query(asked.task.digest)
    assert query.outcome(3) is not None
    query._replayed(3)
    assert work.tallied == counted


def test_a_beacon_is_drawn_once_whatever_the_server_draws_after_a_crash() -> None:
    """Were it drawn again, the party would be told another message 2, and devices would change their groups."""
    for write in range(4, 12):
        asked = federation("rounds")
        asked.entropy = FixedEntropy(1)
        with crashing(asked.journal, write, "before"), pytest.raises(Crash):
            asked.query().run()
        shown = beacons(asked)
        asked.entropy = FixedEntropy(2)
        asked.query().run()
        assert shown.items() <= beacons(asked).items()


def beacons(asked: Federation) -> dict[str, bytes]:
    book = asked.journal.read(f"server:{asked.task.digest.hex()}")
    return {entry: content for entry, content in book.items() if entry.startswith("beacon:")}
