"""T14: groups below the least number of reports are not used, and the answer says so; one report more, and they are."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.support.federations import Federation, crowd, items, naming, order

from treetop.adapters.memory.report_collection import MemoryReportCollection
from treetop.federation.service_ports import ReportCollection
from treetop.federation.task import DeviceTask, LeastReports
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.signed_documents import PublishedList
from treetop.trie.user_groups import Group, Role
from treetop.wording import Note

FIRST, SECOND = Role.VALIDATE_INFREQUENT, Role.VALIDATE_FREQUENT


def federation(mechanism: str, mode: str, **more: Any) -> Federation:
    return Federation.of(order(mechanism, mode, "abc", **more), crowd({"a": 900, "b": 800, "c": 700}))


def sizes_of(asked: Federation, party: str) -> Mapping[Group, int]:
    """The reports of a party's groups after a whole run."""
    asked.query().run()
    work = asked.parties[party].collection[asked.task.digest]
    assert isinstance(work, MemoryReportCollection)
    groups = {entry.group for entry in asked.task.groups} | {Group(entry.group.level) for entry in asked.task.groups}
    return {group: work.gather(group) for group in groups}


def smallest_level(sizes: Mapping[Group, int], levels: Sequence[int], roles: Sequence[Role]) -> int:
    return min(sum(sizes[Group(level, role)] for role in roles if Group(level, role) in sizes) for level in levels)


def with_least(asked: Federation, **least: int) -> Federation:
    return replace(asked, order=replace(asked.order, least=replace(LeastReports(1, 1), **least)))


def fresh(mechanism: str, mode: str, **least: int) -> Federation:
    """The same devices with the same randomness: only the least numbers differ, and the task's digest with them."""
    return with_least(federation(mechanism, mode), **least)


@pytest.mark.parametrize("mechanism", ["fedpem", "gtf", "tap"])
def test_a_party_of_the_papers_mechanisms_withdraws_below_the_least(mechanism: str) -> None:
    sizes = sizes_of(federation(mechanism, "one-shot"), "c")
    least = smallest_level(sizes, range(1, 5), [Role.ESTIMATE])
    others = {
        missing["name"] for missing in fresh(mechanism, "one-shot", estimate=least).query().run().content["missing"]
    }
    assert "c" not in others
    missing = fresh(mechanism, "one-shot", estimate=least + 1).query().run().content["missing"]
    (reason,) = [entry["reason"] for entry in missing if entry["name"] == "c"]
    assert reason.startswith(f"withdrew: fewer than {least + 1} reports at level")


def notes_at(content: dict[str, Any], party: str) -> list[Any]:
    """Return the notes of an answer on one party."""
    found = [note["parameters"] for note in content["notes"] if note["code"] == "at_party"]
    return [each["note"] for each in found if each["party"] == party]


def test_canopy_leaves_the_level_out_and_goes_on() -> None:
    sizes = sizes_of(federation("canopy", "one-shot"), "c")
    least = smallest_level(sizes, (1, 2), [Role.ESTIMATE])
    assert fresh("canopy", "one-shot", estimate=least).query().run().content["notes"][1:] == []
    content = fresh("canopy", "one-shot", estimate=least + 1).query().run().content
    assert content["missing"] == []
    (note,) = notes_at(content, "c")
    assert (note["code"], note["parameters"]["reports"], note["parameters"]["least"]) == (
        "group_left_out",
        least,
        least + 1,
    )
    assert items(content)[0] == "200"


def test_panorama_leaves_out_chunks_with_too_few_reports_and_goes_on() -> None:
    """A chunk is looked at from as many reports on as a validation set; whole names from as many as an estimate."""
    holders = {"a": {"ab": 900, "cd": 500}, "b": {"ab": 400, "cd": 300}}
    settings = {"bits": 10, "text_chunks": 3, "text_share": 0.4}

    def asked(**least: int) -> Federation:
        return with_least(naming(holders, settings=settings, word_list=ItemList(("ab", "cd"))), **least)

    sizes = sizes_of(asked(), "b")
    fewest = min(sizes[Group(level)] for level in (2, 3, 4))
    (chunk,) = [level - 1 for level in (2, 3, 4) if sizes[Group(level)] == fewest]
    whole = asked(validation=fewest).query().run().content
    assert notes_at(whole, "b") == []
    content = asked(validation=fewest + 1).query().run().content
    assert Note("chunks_left_out", chunks=[chunk], least=fewest + 1).to_json() in notes_at(content, "b")
    none = asked(validation=max(sizes[Group(level)] for level in (2, 3, 4)) + 1).query().run().content
    assert notes_at(none, "b")[0]["parameters"]["chunks"] == [1, 2, 3]
    assert content["missing"] == []
    assert items(content)[:2] == ["ab", "cd"]
    alone = asked(estimate=sizes[Group(1)] + 1, validation=1).query().run().content
    assert Note("names_left_out", least=sizes[Group(1)] + 1).to_json() in notes_at(alone, "b")


def test_in_one_shot_small_validation_sets_estimate_with_the_others() -> None:
    sizes = sizes_of(federation("taps", "one-shot"), "c")
    least = min(sizes[Group(level, role)] for level in (2, 3, 4) for role in (FIRST, SECOND))
    assert notes_at(fresh("taps", "one-shot", validation=least).query().run().content, "c") == []
    content = fresh("taps", "one-shot", validation=least + 1).query().run().content
    (note,) = notes_at(content, "c")
    assert (note["code"], note["parameters"]["least"]) == ("level_without_validation", least + 1)
    assert content["missing"] == []


def test_reports_that_need_not_validate_are_counted_in_the_estimate() -> None:
    asked = fresh("taps", "one-shot", validation=1000)
    asked.query().run()
    for name, party in asked.parties.items():
        entries = party.journal.read(f"party:{name}:{asked.task.digest.hex()}")
        counted = sum(json.loads(entries[entry])["reports"] for entry in entries if "tally" in entry)
        assert counted == len(party.codes)


class SilentDevices(MemoryReportCollection):
    """Rounds: only so many devices of one group answer."""

    group, answering = Group(4), 0

    def publish_list(self, document: bytes, listed: PublishedList) -> None:
        super().publish_list(document, listed)
        if listed.question.group == self.group:
            self._members[self.group] = self._members[self.group][: self.answering]
            self._reports[self.group] = tuple(column[: self.answering] for column in self._reports[self.group])


def silent(mechanism: str, group: Group, answering: int, **least: int) -> Federation:
    asked = fresh(mechanism, "rounds", **least)

    def dressed(work: ReportCollection) -> ReportCollection:
        work.__class__ = SilentDevices
        assert isinstance(work, SilentDevices)
        work.group, work.answering = group, answering
        return work

    asked.parties["c"].dressed = dressed
    return asked


@pytest.mark.parametrize("answering", [49, 50])
def test_in_rounds_it_counts_who_answered(answering: int) -> None:
    content = silent("tap", Group(4), answering, estimate=50).query().run().content
    reasons = {missing["name"]: missing["reason"] for missing in content["missing"]}
    told = "withdrew: the group of level 4 (estimate): 49 reports, fewer than 50"
    assert reasons.get("c") == (told if answering == 49 else None)


@pytest.mark.parametrize("answering", [9, 10])
def test_in_rounds_a_validation_set_that_stays_small_prunes_nothing(answering: int) -> None:
    content = silent("taps", Group(3, SECOND), answering, validation=10).query().run().content
    told = Note("group_left_out", levels=[3], role="validate frequent", reports=9, least=10)
    assert (told.to_json() in notes_at(content, "c")) == (answering == 9)
    assert content["missing"] == []


def test_the_least_numbers_are_part_of_the_task() -> None:
    one, other = (fresh("tap", "rounds", estimate=number).task for number in (1, 2))
    assert isinstance(one, DeviceTask)
    assert one.digest != other.digest
