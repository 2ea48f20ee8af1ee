"""R7: parties that drop out or stall, at every phase, under both policies; never silently complete."""

from typing import Any

import pytest
from tests.support.federations import Federation, crowd, items, order

from treetop.adapters.memory.ports import MemoryChannel
from treetop.answers.answer import Answer
from treetop.errors import PartyUnreachable, QueryFailed
from treetop.federation.server.party_poller import MissingPolicy
from treetop.federation.task import Deadlines
from treetop.mechanisms.registry import MECHANISMS
from treetop.wording import Note

BOTH = pytest.mark.parametrize("mode", ["one-shot", "rounds"])
PHASES = pytest.mark.parametrize("phase", [1, 2, 3])
"""The first message that a lost party does not answer: close, begin, or the one after."""


class LostChannel(MemoryChannel):
    """A party that answers nothing from a message on: unreachable, or at work for ever."""

    lost_from, stalls = 1 << 30, False

    def install(self, document: bytes) -> None:
        self._lost(1)
        super().install(document)

    def tell(self, task: bytes, number: int, message: bytes) -> None:
        self._lost(number)
        super().tell(task, number, message)

    def outcome(self, task: bytes, number: int) -> bytes | None:
        if number >= self.lost_from and self.stalls:
            return None
        self._lost(number)
        return super().outcome(task, number)

    def _lost(self, number: int) -> None:
        if number >= self.lost_from and not self.stalls:
            raise PartyUnreachable(self._name, "connection refused")


def federation(mechanism: str, mode: str, policy: str, number: int = 5, users: int = 300, **more: Any) -> Federation:
    names = [f"p{place:02d}" for place in range(number)]
    codes = crowd({name: users + 2 * (number - place) for place, name in enumerate(names)})
    more = {"deadlines": Deadlines(enrolment=60, reports=60, level_seconds=60), **more}
    told = Federation.of(order(mechanism, mode, names, **more), codes, policy=MissingPolicy(policy, 5.0))  # type: ignore[arg-type]
    told.channels = {name: LostChannel(name, party) for name, party in told.parties.items()}
    return told


@pytest.mark.parametrize(
    ("mechanism", "mode"), [(name, mode) for name, known in MECHANISMS.items() for mode in known.deployment.modes]
)
@PHASES
@pytest.mark.parametrize("stalls", [False, True])
def test_one_of_five_lost_is_named_and_the_others_answer(mechanism: str, mode: str, phase: int, stalls: bool) -> None:
    asked = federation(mechanism, mode, "proceed")
    lost = asked.channels["p02"]
    lost.lost_from, lost.stalls = phase, stalls
    content = asked.query().run().content
    assert items(content)[0] == "200"
    if mechanism in {"fedpem", "gtf"} and phase == 3 and mode == "one-shot":
        assert content["missing"] == []  # two messages are all they need
        return
    (missing,) = content["missing"]
    assert Answer.from_json(content).to_json() == content
    assert missing["name"] == "p02"
    assert ("still at work" if stalls else "connection refused") in missing["reason"]
    assert [party["name"] for party in content["parties"]] == ["p00", "p01", "p03", "p04"]
    present = sum(party["users"] for party in content["parties"])
    known = present if phase == 1 else present + len(asked.parties["p02"].codes)
    share = None if phase == 1 else present / known
    assert content["covered"] == {"users": present, "of": "known", "known": known, "share": share}


@pytest.mark.parametrize("mechanism", ["taps", "canopy"])
@BOTH
@PHASES
def test_waiting_fails_by_name_and_resumes_to_the_whole_answer(mechanism: str, mode: str, phase: int) -> None:
    expected = federation(mechanism, mode, "wait").query().run().document
    asked = federation(mechanism, mode, "wait")
    asked.channels["p01"].lost_from = phase
    with pytest.raises(QueryFailed, match=r"no answer from 'p01' \(connection refused\); the query can be resumed"):
        asked.query().run()
    asked.channels["p01"].lost_from = 1 << 30
    assert asked.query().run().document == expected


@pytest.mark.parametrize("mechanism", ["taps", "canopy"])
@BOTH
@PHASES
@pytest.mark.parametrize("policy", ["wait", "proceed"])
def test_24_of_50_lost(mechanism: str, mode: str, phase: int, policy: str) -> None:
    asked = federation(mechanism, mode, policy, 50, 60, epsilon="8")
    lost = [f"p{place:02d}" for place in range(1, 48, 2)]
    for name in lost:
        asked.channels[name].lost_from = phase
    if policy == "wait":
        with pytest.raises(QueryFailed, match="p01"):
            asked.query().run()
        return
    content = asked.query().run().content
    assert [missing["name"] for missing in content["missing"]] == lost
    assert len(content["parties"]) == 26
    assert items(content)[0] == "200"


def test_the_expected_users_say_what_share_is_covered() -> None:
    names = [f"p{place:02d}" for place in range(5)]
    asked = federation("canopy", "one-shot", "proceed", expected=dict.fromkeys(names, 400))
    asked.channels["p02"].lost_from = 1
    content = asked.query().run().content
    users = sum(party["users"] for party in content["parties"])
    assert content["covered"] == {"users": users, "of": "expected", "known": 2000, "share": users / 2000}


def test_a_successor_gets_the_last_list_there_is_and_the_answer_says_so() -> None:
    asked = federation("taps", "one-shot", "proceed")
    asked.channels["p02"].lost_from = 3
    notes = asked.query().run().content["notes"]
    prunes = Note("prunes_with_another_list", missing="p02", party="p03", author="p01")
    assert prunes.to_json() in notes


@BOTH
def test_a_party_that_comes_back_stays_left_out(mode: str) -> None:
    """The decision is journaled: a resumed query gives the same bytes although the party answers again."""
    asked = federation("taps", mode, "proceed")
    asked.channels["p02"].lost_from = 2
    expected = asked.query().run().document
    book = asked.journal.kept[f"server:{asked.task.digest.hex()}"]
    del book["result"]
    asked.channels["p02"].lost_from = 1 << 30
    assert asked.query().run().document == expected


def test_nobody_left_is_no_answer() -> None:
    asked = federation("taps", "one-shot", "proceed", 2)
    for channel in asked.channels.values():
        channel.lost_from = 2
    with pytest.raises(QueryFailed, match="no party is left: 'p00' did not answer: connection refused"):
        asked.query().run()


def test_a_party_without_devices_is_left_out() -> None:
    asked = Federation.of(order("canopy", "one-shot", "ab"), {**crowd({"a": 900}), "b": []})
    content = asked.query().run().content
    assert content["missing"] == [{"name": "b", "reason": "has no devices", "levels": 0, "expected": None}]


def test_a_party_that_stays_within_its_deadline_is_not_missing() -> None:
    """At work for an hour before the deadline of reports: patience counts from there."""
    asked = federation("canopy", "one-shot", "proceed", deadlines=Deadlines(enrolment=3600, reports=3600))
    lost = asked.channels["p02"]
    lost.lost_from, lost.stalls = 1, True
    asked.query().run()
    assert 3600 <= asked.clock.passed <= 3600 + 5 + 20


class SlowToFail(LostChannel):
    """A party that stopped: every call waits for a while before it fails."""

    def _lost(self, number: int) -> None:
        if number >= self.lost_from:
            self.clock.sleep(10)
        super()._lost(number)

    def __init__(self, name: str, party: Any, clock: Any) -> None:
        super().__init__(name, party)
        self.clock = clock


class NextTime(LostChannel):
    """A party that needs a moment: whoever asks at once hears that it is at work."""

    asked = 0

    def outcome(self, task: bytes, number: int) -> bytes | None:
        self.asked += 1
        return super().outcome(task, number) if self.asked % 2 == 0 else None


@pytest.mark.parametrize("stopped", ["p00", "p01", "p02"])
def test_asking_a_stopped_party_takes_long_and_is_not_held_against_the_others(stopped: str) -> None:
    """Each call to the stopped one takes ten seconds, twice the patience."""
    asked = federation("canopy", "one-shot", "proceed", number=3)
    asked.channels = {
        name: SlowToFail(name, party, asked.clock) if name == stopped else NextTime(name, party)
        for name, party in asked.parties.items()
    }
    asked.channels[stopped].lost_from = 2
    content = asked.query().run().content
    assert [missing["name"] for missing in content["missing"]] == [stopped]
