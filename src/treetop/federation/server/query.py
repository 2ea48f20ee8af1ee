"""Run by the server: one query from its task to its result, resumed from the journal after a crash."""

from collections.abc import Callable, Mapping
from typing import Any

from treetop.errors import InvalidInput, PeerViolation, QueryFailed
from treetop.federation.device.list_checks import check_question
from treetop.federation.documents import canonical_json
from treetop.federation.level_reports import LevelReport, devices_of_levels, is_biased, read_groups, weights_at
from treetop.federation.ports import Signer
from treetop.federation.protocol import PartyReply, ServerMessage
from treetop.federation.server.expected_users import ExpectedUsers
from treetop.federation.server.party_poller import AskAll, MissingPolicy, PartyPoller, Progress
from treetop.federation.server.planning import QueryOrder, planned_task
from treetop.federation.server.result import FakesNeeded, PartyRecord, QueryResult, answer_of
from treetop.federation.service_ports import Channel, Journal, ServiceClock
from treetop.federation.task import DeviceTask
from treetop.federation.task_parameters import mechanism_of, parameters_of
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.signed_documents import Beacon, PublishedList, signed, signed_task, unverified_content
from treetop.federation.wire.uploads import MAX_TICKETS, Refusal
from treetop.mechanisms.dialogue import Member, Roster, Upload, driven
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.registry import mechanism_named
from treetop.mechanisms.strict_json import digest, require, text, whole
from treetop.privacy.randomness import Entropy
from treetop.trie.user_groups import Group, Role
from treetop.wording import Note

BEACON_BYTES = 32
SEEDS = "seeds"
"""The entry of the journal that says what the next week of a campaign should count again."""
_BIASED = Note("groups_biased")


class ServerQuery:
    """One task and its parties. A second one over the same journal goes on where the first one stopped."""

    def __init__(
        self,
        order: QueryOrder | DeviceTask,
        signer: Signer,
        journal: Journal,
        channels: Mapping[str, Channel],
        *,
        clock: ServiceClock,
        entropy: Entropy,
        policy: MissingPolicy | None = None,
        ask_all: AskAll = map,
        fakes_needed: FakesNeeded | None = None,
        listed: ItemList | None = None,
        campaign: bytes | None = None,
    ) -> None:
        """Take an order, or a task and the list that it names; for a week of a campaign its signed document."""
        self.task = planned_task(order) if isinstance(order, QueryOrder) else order
        self._listed = order.listed if isinstance(order, QueryOrder) else listed
        self._campaign = campaign
        self._choices = order.choices if isinstance(order, QueryOrder) else ()
        self._expected = order.expectations if isinstance(order, QueryOrder) else ExpectedUsers()
        self._central = order.query.central if isinstance(order, QueryOrder) else None
        if set(channels) != set(self.task.parties):
            raise InvalidInput("channels_differ", parties=self.task.parties, channels=tuple(channels))
        self._signer = signer
        self._journal = journal
        self._entropy = entropy
        self._channels = channels
        self._clock = clock
        self._ask_all = ask_all
        self._policy = policy or (order.policy if isinstance(order, QueryOrder) else MissingPolicy())
        self._fakes_needed = fakes_needed
        self._mechanism = mechanism_of(self.task, self._listed)
        self._parameters = parameters_of(self.task)
        self._log = ListLog(self.task, signer, journal)
        self._records = {party: PartyRecord(party) for party in self.task.parties}
        self._facts: dict[str, PublicFacts[Parameters]] = {}
        self._uploads: dict[str, Upload] = {}
        self._notes: list[Note] = []

    @property
    def facts(self) -> Mapping[str, PublicFacts[Parameters]]:
        """Return what is public about every party that takes part, so far."""
        return self._facts

    @property
    def records(self) -> Mapping[str, PartyRecord]:
        """Return what every party has said of itself so far."""
        return self._records

    @property
    def document(self) -> bytes:
        """Return the signed task, as parties get it."""
        return signed_task(self.task, self._signer)

    def run(self, progress: Callable[[Progress], None] = lambda _: None) -> QueryResult:
        """Return the result; it is in the journal before it is returned."""
        self._letters = PartyPoller(
            self.task,
            self._journal,
            self._channels,
            self._clock,
            document=self.document,
            policy=self._policy,
            ask_all=self._ask_all,
            progress=progress,
            listed=None if self._listed is None else self._listed.document,
            campaign=self._campaign,
        )
        if self._letters.has("result"):
            return QueryResult(self._letters.kept("result", bytes))
        roster = self._closed_roster()
        server = self._mechanism.server(self._parameters, roster)
        ranking = driven(server, lambda messages: self._answers(messages, roster))
        answer = answer_of(
            self.task,
            self._mechanism,
            ranking,
            list(self._records.values()),
            self._letters.left,
            listed=self._listed,
            choices=self._choices,
            expected=self._expected,
            notes=self._notes,
            fakes_needed=self._fakes_needed,
            central=self._central,
        )
        if self.task.campaign is not None:  # kept first: the next week may ask for it as soon as there is an answer
            self._letters.kept(SEEDS, lambda: str(ranking.seeds).encode("ascii"))
        return QueryResult(self._letters.kept("result", lambda: canonical_json(answer.to_json())))

    def _closed_roster(self) -> Roster:
        """End collection or enrolment everywhere; return who has devices, in the task's order."""
        self._letters.exchange(dict.fromkeys(self.task.parties, ServerMessage("close")), self._read_closed)
        members = [Member(name, entry.users) for name, entry in self._records.items() if entry.users]
        for name, entry in self._records.items():
            if entry.users == 0 and name not in self._letters.left:
                refused = [code.note(count).text for code, count in entry.refusals.items()]
                self._letters.leave_out(name, ": ".join(["has no devices", *filter(None, [", ".join(refused)])]))
        self._require_somebody(members)
        roster = Roster(tuple(members))
        for member in members:
            levels = devices_of_levels(self._records[member.name].groups)
            self._facts[member.name] = PublicFacts(
                self._parameters, roster, member, self.task.lengths, self.task.max_slots, levels
            )
        return roster

    def _read_closed(self, party: str, outcome: PartyReply) -> None:
        fields = outcome.content
        tickets = whole("tickets", fields["tickets"], 0, MAX_TICKETS)
        users = whole("devices", fields["devices"], 0, tickets)
        enrolment = digest("digest", fields["digest"])
        groups = read_groups(self.task, fields["groups"], users)
        if not self.task.one_shot:
            require(not groups, "groups before the beacon", "none", len(groups))
        if not self._letters.has_heard(party):  # who was let in stays: the others have its size in their rosters
            self._expected.check(party, users)
        entry = self._records[party]
        entry.users = users
        entry.enrolment = enrolment
        entry.groups = groups
        entry.refusals = _read_refusals(fields.get("refusals", {}))
        entry.notes += [code.note(count) for code, count in entry.refusals.items()]
        entry.notes += self._expected.flags(party, users)
        self._flag(party, groups)

    def _flag(self, party: str, groups: Mapping[Group, int]) -> None:
        """Note a party whose devices are in other groups than the task's weights give."""
        entry = self._records[party]
        if is_biased(groups, weights_at(self.task, party)) and _BIASED not in entry.notes:
            entry.notes.append(_BIASED)

    def _answers(self, messages: Mapping[str, object], roster: Roster) -> dict[str, Upload]:
        """Return what the parties that are still there upload, in the roster's order, not in that of arrival."""
        self._uploads = {}
        present = {name: said for name, said in messages.items() if name not in self._letters.left}
        self._letters.exchange({name: self._message(name, said, roster) for name, said in present.items()}, self._read)
        self._require_somebody([member for member in roster.members if member.name not in self._letters.left])
        return {name: self._uploads[name] for name in messages if name in self._uploads}

    def _message(self, party: str, said: object, roster: Roster) -> ServerMessage:
        """Return the next message to a party; the first one also says who takes part."""
        facts = self._facts[party]
        facts.messages.append(said)
        self._notes += self._mechanism.notes.of_message(facts, said)
        message = self._mechanism.wire.encode_message(said)
        if len(facts.messages) > 1:
            return ServerMessage("say", {"message": message})
        members = [[member.name, member.users] for member in roster.members]
        beacon = None if self.task.one_shot else self._beacon(party)
        return ServerMessage("begin", {"roster": members, "beacon": beacon, "message": message})

    def _beacon(self, party: str) -> str:
        """Return the signed beacon of a party: drawn once, after the party was bound to its enrolment."""
        entry = self._records[party]

        def drawn() -> bytes:
            beacon = self._entropy.read(BEACON_BYTES)
            content = Beacon(self.task.digest, party, entry.users, entry.enrolment, beacon).to_bytes()
            return signed("beacon", content, self._signer)

        return self._letters.kept(f"beacon:{party}", drawn).decode("ascii")

    def _read(self, party: str, outcome: PartyReply) -> ServerMessage | None:
        """Take in an outcome of the mechanism's dialogue; a list is signed, and the party asked again."""
        fields = outcome.content
        facts = self._facts[party]
        following = None
        entry = self._records[party]
        happened = LevelReport.from_json(self.task, fields, entry.users)
        whole("implausible", happened.implausible, 0, entry.users - entry.implausible)
        self._learn_groups(party, happened.groups)
        match outcome.kind:
            case "withdrawn":
                text("reason", fields["reason"])
            case "list":
                document = self._log.signed_list(facts, text("list", fields["list"], 1 << 30))
                following = ServerMessage("publish", {"document": document.decode("ascii")})
            case _:
                self._take_upload(facts, outcome.kind, fields["upload"])
        entry.add(happened)
        return following

    def _take_upload(self, facts: PublicFacts[Parameters], kind: str, content: Any) -> None:
        last = len(facts.messages) == self._mechanism.wire.uploads(self._parameters)
        wanted = "done" if last else "upload"
        require(kind == wanted, "kind of the reply", wanted, kind)
        entry = self._records[facts.member.name]
        upload: Upload
        if last:
            upload = findings = self._mechanism.wire.decode_findings(facts, content)
            entry.estimates = findings.estimates
            entry.domain = findings.heavy_hitters.oracle.size
        else:
            upload = self._mechanism.wire.decode_upload(facts, content)
        self._uploads[entry.name] = upload
        facts.uploads.append(upload)
        entry.uplink_bits += upload.bits

    def _learn_groups(self, party: str, groups: dict[Group, int]) -> None:
        """Rounds: where a party's devices are, as it said first; nobody moves afterwards."""
        entry = self._records[party]
        if entry.groups:
            require(groups in ({}, entry.groups), "groups", "those that the party named first", "others")
        elif groups:
            entry.groups = groups
            self._facts[party].max_reports = devices_of_levels(groups)
            self._flag(party, groups)

    def _require_somebody(self, members: list[Member]) -> None:
        if not members:
            reasons = "; ".join(f"{name!r} {reason}" for name, reason in self._letters.left.items())
            raise QueryFailed("no_party_left", reasons=reasons)


def _read_refusals(content: Any) -> dict[Refusal, int]:
    """Read how many devices may not answer, by code; after a restart of the party some may have been counted twice."""
    require(type(content) is dict and set(content) <= set(Refusal), "refusals", ", ".join(Refusal), "otherwise")
    return {code: whole(code, content[code], 1, MAX_TICKETS) for code in Refusal if code in content}


class ListLog:
    """The public log of a task in rounds: one list for each group of a party, there for ever once signed (T1, T2)."""

    def __init__(self, task: DeviceTask, signer: Signer, journal: Journal) -> None:
        self._task = task
        self._signer = signer
        self._journal = journal
        self._mechanism = mechanism_named(task.mechanism)
        self.book = f"log:{task.digest.hex()}"

    def signed_list(self, facts: PublicFacts[Parameters], content: str) -> bytes:
        """Return the signed document of a list that stands the public checks; the same list, the same document."""
        listed = PublishedList.from_bytes(content.encode("ascii", errors="replace"), self._task)
        check_list(self._task, self._mechanism, facts, listed)
        group = listed.question.group
        name = f"{facts.member.name}:{group.level}:{tuple(Role).index(group.role)}"
        document = self._journal.write(
            self.book, f"list:{name}", signed("list", listed.to_bytes(self._task), self._signer)
        )
        if unverified_content(document) != content:
            self._journal.write(self.book, f"refused:{name}:{listed.question.digest.hex()}", content.encode("ascii"))
            raise PeerViolation(f"candidate list of {group}", "the one that was signed before", "another")
        if group.role is Role.ESTIMATE:
            facts.slots[group.level] = listed.question.slots
        return document


def check_list(
    task: DeviceTask, mechanism: Mechanism[Any], facts: PublicFacts[Parameters], listed: PublishedList
) -> None:
    """Refuse a list that devices would refuse, or that the mechanism would not ask."""
    question = listed.question
    require(listed.party == facts.member.name, "party of a list", facts.member.name, listed.party)
    require(question.group in weights_at(task, listed.party), "group of a list", "one of the party", question.group)
    check_question(task, question.group, question, listed.published)
    require(mechanism.deployment.prunes or not question.pruned, "pruned candidates", "none", len(question.pruned))
    named = mechanism.wire.published_prefixes(facts)
    if named is not None:
        same = listed.published.prefixes == tuple(sorted(map(int, named.tolist())))
        require(same, "published prefixes", "those that the server named", "others")
