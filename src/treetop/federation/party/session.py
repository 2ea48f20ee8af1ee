"""The party's part of one query: a dialogue that receives the server's messages and yields outcomes.

It keeps everything that it learns from its devices before it goes on, so that the same messages lead to the same
outcomes. In rounds it writes each collection as the list that the server signs and devices check.
"""

import json
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from treetop.errors import PeerViolation
from treetop.federation.documents import canonical_json
from treetop.federation.level_reports import LevelReport, read_groups, written_groups
from treetop.federation.protocol import PartyReply, ServerMessage
from treetop.federation.service_ports import Collected, Counting, ReportCollection
from treetop.federation.task import DeviceTask
from treetop.federation.task_parameters import mechanism_of, parameters_of
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.report_batches import NO_DOMAIN
from treetop.federation.wire.signed_documents import Beacon, Publication, PublishedList, Question, unverified_content
from treetop.federation.wire.uploads import MAX_TICKETS
from treetop.mechanisms.dialogue import (
    CollectNames,
    CollectReports,
    Findings,
    HearServer,
    LevelTrace,
    Member,
    NameReports,
    Record,
    Roster,
    TellServer,
)
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.registry import MECHANISMS
from treetop.mechanisms.strict_json import require, rows, text, whole
from treetop.oracles.frequency_oracle import NO_KEYS, Columns, Keys, Tally
from treetop.oracles.name_reports import CountedNameReports
from treetop.trie.support import CandidateDomain
from treetop.trie.user_groups import VALIDATING, Group, Role
from treetop.wording import Note


class Kept:
    """What a party has learned so far: an entry (JSON) is written once, and durable before it is used."""

    def __init__(self, entries: Mapping[str, bytes], learn: Callable[[str, bytes], None]) -> None:
        self._entries = entries
        self._learn = learn

    def __contains__(self, entry: object) -> bool:
        return entry in self._entries

    def __getitem__(self, entry: str) -> Any:
        return json.loads(self._entries[entry])

    def __setitem__(self, entry: str, value: Any) -> None:
        self._learn(entry, canonical_json(value))


SessionSteps = Generator[PartyReply, ServerMessage, Any]


class Withdrawal(Exception):
    """The party takes part no longer; the message says why."""


class PartySession:
    """One party in one query, from the first message to its last outcome."""

    def __init__(self, task: DeviceTask, party: str, collection: ReportCollection, kept: Kept) -> None:
        self._task = task
        self._party = party
        self._collection = collection
        self._kept = kept
        self._traces: list[LevelTrace] = []
        self._notes: list[Note] = []
        self._groups: dict[Group, int] = {}
        self._asked: set[Group] = set()
        self._last: tuple[list[Group], CandidateDomain | None] | None = None
        """Groups and domain of the last level, if it had enough reports; whole names are their own keys."""
        self._implausible = 0

    def conversation(self) -> SessionSteps:
        """Answer the server until there is nothing more to say; the first thing sent in is the first message."""
        first = yield PartyReply("closed")  # never seen: it starts the conversation
        try:
            first.parts_after(None)
            if "collected" not in self._kept:
                self._kept["collected"] = _written_collected(self._collection.close())
            collected = self._kept["collected"]
            begin = yield from _exchanged(PartyReply("closed", collected))
            heard = self._begun(begin, collected)
            answer = None
            dialogue = self._mechanism.party(self._facts.parameters, self._facts.roster, self._facts.member)
            while True:
                try:
                    request = dialogue.send(answer)
                except StopIteration as end:
                    last = self._done(end.value)
                    break
                answer = None
                match request:
                    case HearServer():
                        answer = heard
                    case TellServer():
                        upload = self._mechanism.wire.encode_upload(self._facts, request.upload)
                        self._facts.uploads.append(request.upload)
                        say = yield from _exchanged(self._outcome("upload", upload=upload))
                        heard = self._heard(say["message"])
                    case CollectReports():
                        answer = yield from self._collect(request)
                    case CollectNames():
                        answer = self._name_reports(request)
                    case Record():
                        self._traces.append(request.trace)
                    case _:  # DivideUsers, DrawGroup: the devices have drawn their groups themselves
                        pass
        except (Withdrawal, PeerViolation) as reason:
            last = self._outcome("withdrawn", reason=str(reason)[:500])
        yield last

    def _outcome(self, kind: Any, **content: Any) -> PartyReply:
        """Return an outcome with what happened since the last one."""
        groups = {} if self._task.one_shot else self._groups
        happened = LevelReport(self._traces, self._notes, groups, self._implausible)
        self._traces = []
        self._notes = []
        self._implausible = 0
        return PartyReply(kind, {**content, **happened.to_json()})

    def _begun(self, begin: dict[str, Any], collected: Any) -> object:
        """Learn who takes part and where the own devices are; return the mechanism's first message."""
        task = self._task
        devices = collected["devices"]
        if task.mechanism not in MECHANISMS:
            raise Withdrawal(f"the mechanism {task.mechanism!r} is not known here")
        self._mechanism = mechanism_of(task, self._item_list())
        roster, member = _read_roster(begin["roster"], self._party, devices)
        self._facts = PublicFacts(parameters_of(task), roster, member, task.lengths, task.max_slots)
        rows_of_groups = collected["groups"] if task.one_shot else self._assigned(begin["beacon"], collected)
        self._groups = read_groups(task, rows_of_groups, devices)
        at_hand = GroupsAtHand(task, self._groups, self._mechanism.deployment.validates(self._facts))
        if not self._mechanism.deployment.tolerates_small_groups and (reason := at_hand.too_small()):
            raise Withdrawal(reason)
        return self._heard(begin["message"])

    def _item_list(self) -> ItemList | None:
        """Return the list that the task names, which the server has given before its first message."""
        if not self._task.item_list:
            return None
        document = self._collection.item_list()
        if document is None:
            raise Withdrawal("the list that the task names was not given")
        return ItemList.from_document(document, self._task.item_list)

    def _assigned(self, document: Any, collected: Any) -> Any:
        """Rounds: show the beacon to the devices, once it is the one for this enrolment."""
        content = text("beacon", document, 1 << 20).encode()
        beacon_in(content, self._task, self._party, collected)
        if "assigned" not in self._kept:
            self._kept["assigned"] = written_groups(self._collection.publish_beacon(content))
        return self._kept["assigned"]

    def _heard(self, content: Any) -> object:
        """Return the mechanism's next message, as far as the own groups are large enough for it."""
        message = self._mechanism.wire.decode_message(self._facts, content)
        self._facts.messages.append(message)
        usable, notes = self._mechanism.deployment.usable(
            self._facts, message, self._groups, self._task.least.validation
        )
        self._notes += notes
        return usable

    def _done(self, found: Findings) -> PartyReply:
        """Return the last outcome; one-shot reports are checked against the items that were found."""
        if self._task.one_shot and self._last is not None:
            groups, domain = self._last
            names = found.estimates.prefixes
            counting = self._hashed_counting(names.astype(np.uint64) if domain is None else domain.keys(names))
            if "implausible" not in self._kept:
                self._kept["implausible"] = self._collection.implausible(groups, counting)
            self._implausible = self._kept["implausible"]
        return self._outcome("done", upload=self._mechanism.wire.encode_findings(self._facts, found))

    def _hashed_counting(self, keys: Keys) -> Counting:
        return Counting(self._task.unlisted_oracle, self._task.unlisted_face.slots, NO_DOMAIN, keys)

    def _collect(self, request: CollectReports) -> Generator[PartyReply, ServerMessage, Tally]:
        """Return the tally of a group; with too few reports nothing of it is looked at or used."""
        groups = self._groups_for(request.group)
        entry = _entry(request.group)
        self._asked.update(groups)
        signed: tuple[bytes, PublishedList] | None = None
        if self._task.one_shot:
            counting = self._hashed_counting(request.domain.keys(request.domain.prefixes))
        else:
            signed = yield from self._signed_list(request)
            question = signed[1].question
            counting = Counting(self._task.oracle_for(question.slots), question.slots, question.digest, NO_KEYS)
        if entry not in self._kept:
            if signed is not None:
                self._collection.publish_list(*signed)
            reports = sum(self._collection.gather(group) for group in groups)
            enough = reports >= self._least(groups)
            oracle = counting.oracle
            odd = 0
            tally = oracle.counting.no_reports(counting.slots, counting.keys)
            if enough:
                tally = self._collection.tally(groups, counting)
            if enough and oracle.listed and oracle.counting.screens:  # hashed values: once the items are known
                odd = self._collection.implausible(groups, counting)
            support = tally.support.tolist()
            counted = tally.reports if enough else reports
            self._kept[entry] = {"reports": counted, "support": support, "enough": enough, "implausible": odd}
        kept = self._kept[entry]
        self._implausible += kept["implausible"]
        tally = Tally(np.array(kept["support"], dtype=np.int64), kept["reports"])
        if self._task.one_shot:
            self._last = (groups, request.domain) if kept["enough"] else None
        return tally if kept["enough"] else self._without(request, tally)

    def _name_reports(self, request: CollectNames) -> NameReports:
        """Return what the reports say of every name; of a kind with too few of them, nothing is looked at or used.

        Nothing needs to be kept: the groups are closed, and their reports say the same after a restart.
        """
        counting = self._hashed_counting(NO_KEYS)
        kinds = []
        for kind in range(len(request.weights)):
            reports = self._groups.get(Group(1 + kind), 0)
            least = self._task.least
            kinds.append(reports if reports >= (least.validation if kind else least.estimate) else 0)
        if few := [kind for kind, reports in enumerate(kinds) if kind and not reports]:
            self._notes.append(Note("chunks_left_out", chunks=few, least=self._task.least.validation))
        if kinds[0]:
            self._last = [Group(1)], None
        else:
            self._notes.append(Note("names_left_out", least=self._task.least.estimate))

        def reports_of(kind: int) -> Iterable[Columns]:
            return self._collection.reports(Group(1 + kind), counting) if kinds[kind] else ()

        return CountedNameReports(request.oracle, request.bits, tuple(kinds), reports_of)

    def _groups_for(self, group: Group) -> list[Group]:
        """Rounds: the group itself. One-shot: an estimate takes every group of its level that was not asked before."""
        if not self._task.one_shot or group.role is not Role.ESTIMATE:
            return [group]
        level = [entry.group for entry in self._task.groups if entry.group.level == group.level]
        return [other for other in level if other not in self._asked]

    def _signed_list(
        self, request: CollectReports
    ) -> Generator[PartyReply, ServerMessage, tuple[bytes, PublishedList]]:
        """Rounds: have the list of a collection signed, before devices see it."""
        listed = published_list(self._task, self._party, request)
        publish = yield from _exchanged(self._outcome("list", list=listed_text(listed, self._task)))
        document = text("document", publish["document"], 1 << 30).encode()
        same = unverified_content(document) == listed_text(listed, self._task)
        require(same, "signed list", "the own one", "another")
        return document, listed

    def _least(self, groups: list[Group]) -> int:
        least = self._task.least
        return least.estimate if any(group.role is Role.ESTIMATE for group in groups) else least.validation

    def _without(self, request: CollectReports, tally: Tally) -> Tally:
        """Go on without a level's reports where that is possible, or withdraw."""
        least = self._least([request.group])
        if request.group.role is Role.ESTIMATE and not self._mechanism.deployment.tolerates_small_groups:
            raise Withdrawal(f"{request.group}: {tally.reports} reports, fewer than {least}")
        group = request.group
        self._notes.append(
            Note("group_left_out", levels=[group.level], role=group.role.value, reports=tally.reports, least=least)
        )
        return Tally(np.zeros_like(tally.support), 0)


def _exchanged(reply: PartyReply) -> Generator[PartyReply, ServerMessage, dict[str, Any]]:
    """Give a reply; return the parts of the message that follows it, or refuse that one."""
    message = yield reply
    return message.parts_after(reply.kind)


def _entry(group: Group) -> str:
    return f"tally:{group.level}:{tuple(Role).index(group.role)}"


def _written_collected(collected: Collected) -> Any:
    written = {
        "devices": collected.devices,
        "tickets": collected.tickets,
        "digest": collected.digest.hex(),
        "groups": written_groups(collected.groups),
    }
    return {**written, "refusals": dict(collected.refusals)} if collected.refusals else written


def _read_roster(content: Any, party: str, devices: int) -> tuple[Roster, Member]:
    """Read who takes part; the own number must be the own one."""
    members = []
    for entry in rows("roster", content, 1, 1 << 16):
        name, users = rows("member", entry, 2, 2)
        members.append(Member(text("name", name), whole("users", users, 1, MAX_TICKETS)))
    own = Member(party, devices)
    require(own in members, "roster", f"{party} with {devices} devices", "otherwise")
    require(len({member.name for member in members}) == len(members), "roster", "every party once", "one twice")
    return Roster(tuple(members)), own


@dataclass(frozen=True)
class GroupsAtHand:
    """The groups of one party: the reports of each (one-shot), or the devices that may still answer (rounds).

    Groups with fewer reports than the task's least are not used: they are mostly noise (threat model, T14).
    """

    task: DeviceTask
    devices: Mapping[Group, int]
    validates: bool
    """Whether its validation sets are needed for another party's lists."""

    def has_validation(self, level: int) -> bool:
        """Return whether a level has both validation sets, and both are large enough."""
        sizes = [self.devices.get(Group(level, role), 0) for role in VALIDATING]
        return min(sizes) >= self.task.least.validation

    def estimating(self, level: int) -> int:
        """Return who can answer the estimate of a level: in one-shot also validation sets that are not needed."""
        own = self.devices.get(Group(level), 0)
        if not self.task.one_shot or (self.validates and self.has_validation(level)):
            return own
        return own + sum(self.devices.get(Group(level, role), 0) for role in VALIDATING)

    def too_small(self) -> str:
        """Say which levels have too few for an estimate, or nothing."""
        least = self.task.least.estimate
        levels = range(1, len(self.task.lengths))
        small = [f"{level} ({count})" for level in levels if (count := self.estimating(level)) < least]
        return f"fewer than {least} reports at level {', '.join(small[:5])}" if small else ""


def published_list(task: DeviceTask, party: str, request: CollectReports) -> PublishedList:
    """Return the list of a collection with what it grew from.

    These are the prefixes one level up, whose other children were pruned. Where another party chose the candidates,
    they are the prefixes that the mechanism names.
    """
    level = request.group.level
    asked = tuple(map(int, request.domain.prefixes.tolist()))
    if request.above is not None:
        length, prefixes = request.above
        question = Question(task.digest, request.group, request.domain.length, asked)
        return PublishedList(party, question, Publication(length, tuple(sorted(map(int, prefixes.tolist())))))
    step = task.lengths[level] - task.lengths[level - 1]
    present = set(asked)
    parents = tuple(sorted({prefix >> step for prefix in asked}))
    children = ((parent << step) | ending for parent in parents for ending in range(1 << step))
    pruned = tuple(child for child in children if child not in present)
    question = Question(task.digest, request.group, request.domain.length, asked, pruned)
    return PublishedList(party, question, Publication(task.lengths[level - 1], parents))


def listed_text(listed: PublishedList, task: DeviceTask) -> str:
    """Return the content that the server is asked to sign."""
    return listed.to_bytes(task).decode("ascii")


def beacon_in(document: bytes, task: DeviceTask, party: str, collected: Any) -> Beacon:
    """Return the beacon of a signed document, which must be drawn for this party's enrolment."""
    content = unverified_content(document)
    require(type(content) is str, "beacon", "a text", type(content).__name__)
    beacon = Beacon.from_bytes(content.encode())
    own = (task.digest, party, collected["devices"], bytes.fromhex(collected["digest"]))
    found = (beacon.task, beacon.party, beacon.devices, beacon.enrolment)
    require(own == found, "beacon", "one for this enrolment", "another")
    return beacon
