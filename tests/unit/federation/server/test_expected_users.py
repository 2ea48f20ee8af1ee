"""T6: a party's size is compared with what was expected of it; the answer says whose users were counted."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from pydantic import ValidationError
from tests.support.federations import Federation, crowd, items, order
from tests.support.refusals import refused

from treetop.adapters.memory.ports import MemoryChannel
from treetop.answers.answer import Answer
from treetop.errors import InvalidInput, QueryFailed
from treetop.federation.server.party_poller import MissingPolicy
from treetop.federation.service_ports import Collected, Counting, ReportCollection
from treetop.federation.wire.uploads import MAX_TICKETS
from treetop.oracles.frequency_oracle import Tally
from treetop.services.server.schemas import OrderWanted
from treetop.trie.user_groups import Group
from treetop.wording import Note

BOTH = pytest.mark.parametrize("mode", ["one-shot", "rounds"])
SIZES = {"a": 600, "b": 500, "c": 400}


class Inflated:
    """A party that says it has many times its devices, and whose counts agree with that."""

    def __init__(self, real: ReportCollection, times: int) -> None:
        self._real, self._times = real, times

    def close(self) -> Collected:
        found = self._real.close()
        more = {group: self._times * count for group, count in found.groups.items()}
        return replace(found, devices=self._times * found.devices, tickets=self._times * found.tickets, groups=more)

    def publish_beacon(self, document: bytes) -> Mapping[Group, int]:
        return {group: self._times * count for group, count in self._real.publish_beacon(document).items()}

    def gather(self, group: Group) -> int:
        return self._times * self._real.gather(group)

    def tally(self, groups: Sequence[Group], counting: Counting) -> Tally:
        found = self._real.tally(groups, counting)
        return Tally(self._times * found.support, self._times * found.reports)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class LyingChannel(MemoryChannel):
    """Changes one outcome on its way to the server."""

    number = 0
    change: Callable[[Any], None] = staticmethod(lambda content: None)

    def outcome(self, task: bytes, number: int) -> bytes | None:
        data = super().outcome(task, number)
        if data is None or number != self.number:
            return data
        content = json.loads(data)
        self.change(content["content"])
        return json.dumps(content).encode()


def federation(mode: str, mechanism: str = "canopy", policy: str = "proceed", **more: Any) -> Federation:
    asked = Federation.of(
        order(mechanism, mode, "abc", epsilon="4", **more),
        crowd(SIZES),
        policy=MissingPolicy(policy, 5.0),  # type: ignore[arg-type]
    )
    asked.channels = {name: LyingChannel(name, party) for name, party in asked.parties.items()}
    return asked


def inflate(asked: Federation, times: int) -> None:
    asked.parties["a"].dressed = lambda real: Inflated(real, times)


@BOTH
@pytest.mark.parametrize("mechanism", ["canopy", "taps"])
def test_a_party_of_a_million_times_its_size_is_left_out_and_the_others_answer(mode: str, mechanism: str) -> None:
    asked = federation(mode, mechanism, expected=SIZES)
    inflate(asked, 10**6)
    content = asked.query().run().content
    (missing,) = content["missing"]
    assert missing["name"] == "a"
    assert "devices: expected 2,400 at most, 4 times the 600 users expected, found 600,000,000" in missing["reason"]
    assert missing["expected"] == 600
    assert items(content)[0] == "200"
    assert [party["name"] for party in content["parties"]] == ["b", "c"]
    assert content["covered"] == {"users": 900, "of": "expected", "known": 1500, "share": 0.6}


@BOTH
def test_who_waits_for_all_parties_is_told_which_one_is_too_large(mode: str) -> None:
    asked = federation(mode, policy="wait", expected=SIZES)
    inflate(asked, 10**6)
    with pytest.raises(QueryFailed, match="party 'a' broke the protocol: devices: expected 2,400 at most"):
        asked.query().run()
    asked.order = replace(asked.order, expected={**SIZES, "a": 600 * 10**6})  # nothing is lost: it goes on
    assert asked.query().run().content["parties"][0]["users"] == 600 * 10**6


@BOTH
def test_what_was_taken_before_stays_taken(mode: str) -> None:
    """A party that was let in is in the others' rosters: lowering an expectation afterwards must not throw it out."""
    asked = federation(mode, expected=SIZES)
    inflate(asked, 4)
    expected = asked.query().run().content
    book = asked.journal.kept[f"server:{asked.task.digest.hex()}"]
    del book["result"]
    asked.order = replace(asked.order, expected={**SIZES, "a": 10})
    again = asked.query().run().content
    assert again["items"] == expected["items"]
    assert again["missing"] == []


@BOTH
@pytest.mark.parametrize(("times", "flagged"), [(1, False), (2, False), (3, True), (4, True)])
def test_a_party_that_grew_is_counted_and_flagged(mode: str, times: int, flagged: bool) -> None:
    asked = federation(mode, expected=SIZES)
    inflate(asked, times)
    content = asked.query().run().content
    grown = Note("more_users_than_expected", users=600 * times, expected=600, times=2)
    assert (Note("at_party", party="a", note=grown).to_json() in content["notes"]) == flagged
    assert content["missing"] == []
    users = 600 * times + 900
    assert [party["share"] for party in content["parties"]] == [600 * times / users, 500 / users, 400 / users]
    assert [party["expected"] for party in content["parties"]] == [600, 500, 400]
    assert [party["coverage"] for party in content["parties"]] == [float(times), 1.0, 1.0]
    assert content["covered"] == {"users": users, "of": "expected", "known": 1500, "share": users / 1500}
    assert Answer.from_json(content).to_json() == content


def test_the_most_users_that_can_be_expected_can_be_read_back() -> None:
    most = dict.fromkeys(SIZES, MAX_TICKETS)
    content = federation("one-shot", expected=most, max_times_expected=1000).query().run().content
    assert [party["expected"] for party in content["parties"]] == [MAX_TICKETS] * 3
    assert content["covered"]["known"] == 3 * MAX_TICKETS
    assert Answer.from_json(content).to_json() == content
    for users in (0, MAX_TICKETS + 1, 1 << 64, 1.5, True):
        with pytest.raises(InvalidInput):
            order("canopy", "one-shot", "abc", expected={"a": users})
        with pytest.raises(ValidationError):
            OrderWanted.model_validate({"name": "x", "expected": {"a": users}})
    assert OrderWanted.model_validate({"name": "x", "expected": most}).expected == most


def test_the_multiple_is_part_of_the_order() -> None:
    asked = federation("one-shot", expected=SIZES, max_times_expected=2)
    inflate(asked, 3)
    (missing,) = asked.query().run().content["missing"]
    assert "1,200 at most, 2 times the 600 users expected, found 1,800" in missing["reason"]
    for times in (0, 1001, 1.5, True):
        with refused("max_times_expected_invalid", InvalidInput, largest_multiple=1000):
            order("canopy", "one-shot", "abc", max_times_expected=times)


@BOTH
def test_nothing_is_compared_where_nothing_was_expected(mode: str) -> None:
    content = federation(mode, expected={"b": 250}).query().run().content
    assert [party["expected"] for party in content["parties"]] == [None, 250, None]
    assert [party["coverage"] for party in content["parties"]] == [None, 2.0, None]
    assert [party["share"] for party in content["parties"]] == [0.4, 500 / 1500, 400 / 1500]


def grown(content: Any) -> None:
    """Devices of level 1 turn up at the last level."""
    first, last = content["groups"][0], content["groups"][-1]
    first[2], last[2] = 0, last[2] + first[2]


def groups_again(content: Any) -> None:
    content["groups"] = [[1, 0, 5]]


def most_traced(content: Any) -> None:
    content["traces"] = [[1, 4, 16, 601, "olh", 3, ""]]


def all_implausible(content: Any) -> None:
    content["implausible"] = 600


@pytest.mark.parametrize(
    ("mode", "number", "change", "message"),
    [
        ("rounds", 4, grown, "groups: expected those that the party named first, found others"),
        ("rounds", 1, groups_again, "groups before the beacon: expected none, found 1"),
        ("one-shot", 2, groups_again, "groups: expected those that the party named first, found others"),
        ("one-shot", 2, most_traced, "reports: expected from 0 to 600, found 601"),
        ("rounds", 2, most_traced, "reports: expected from 0 to 600, found 601"),
        ("one-shot", 1, lambda content: content["groups"][0].__setitem__(2, 600), "devices of all groups"),
    ],
)
def test_sizes_that_do_not_add_up_or_grow_on_the_way_are_refused(
    mode: str, number: int, change: Callable[[Any], None], message: str
) -> None:
    asked = federation(mode)
    asked.channels["a"].number, asked.channels["a"].change = number, change
    content = asked.query().run().content
    (missing,) = content["missing"]
    assert message in missing["reason"]
    assert items(content)[0] == "200"
    assert content["covered"]["users"] == 900


class AlwaysImplausible(LyingChannel):
    """A party that says with every reply that all its reports are crafted."""

    def outcome(self, task: bytes, number: int) -> bytes | None:
        self.number, self.change = (number, all_implausible) if number > 1 else (0, self.change)
        return super().outcome(task, number)


@BOTH
def test_a_party_cannot_have_more_implausible_reports_than_devices(mode: str) -> None:
    asked = federation(mode)
    asked.channels["a"] = AlwaysImplausible("a", asked.parties["a"])
    (missing,) = asked.query().run().content["missing"]
    assert "implausible: expected from 0 to 0, found 600" in missing["reason"]


@BOTH
@pytest.mark.parametrize("mechanism", ["canopy", "taps"])
def test_what_the_parties_counted_adds_up(mode: str, mechanism: str) -> None:
    content = federation(mode, mechanism).query().run().content
    assert content["items"]
    for row in content["items"]:
        assert {each["party"] for each in row["by_party"]} <= {*SIZES}
        assert sum(each["count"] for each in row["by_party"]) == pytest.approx(row["count"])
        assert sum(each["stderr"] ** 2 for each in row["by_party"]) ** 0.5 == pytest.approx(row["stderr"])
