"""The answer of a query: one JSON document, the same bytes however often the query was interrupted."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from treetop.answers.answer import Answer
from treetop.answers.parts import (
    AnswerParty,
    CampaignPlace,
    MissingParty,
    OutsideShare,
    Privacy,
    Refusals,
    ranked_items,
)
from treetop.federation.level_reports import LevelReport, devices_of_levels
from treetop.federation.server.expected_users import ExpectedUsers
from treetop.federation.server.planning import plan_notes
from treetop.federation.task import DeviceTask
from treetop.federation.task_codec import codec_of, needs_list
from treetop.federation.task_parameters import mode_of, parameters_of
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.uploads import Refusal
from treetop.mechanisms.dialogue import LevelTrace
from treetop.mechanisms.protocol import Mechanism
from treetop.metrics.answer_quality import choices_of_sets
from treetop.oracles.set_reports import HOLDERS
from treetop.privacy.guarantee import NOT_COVERED
from treetop.privacy.shuffling import CentralGuarantee, central_guarantee, usual_delta
from treetop.trie.global_ranking import GlobalRanking
from treetop.trie.support import Estimates
from treetop.trie.user_groups import Group, Role
from treetop.wording import Note

FakesNeeded = Callable[[float, float, float], int]
"""How many crafted reports lift an item that nobody holds to the k-th count, from that count, p and q."""


@dataclass
class PartyRecord:
    """What the server knows of a party at the end."""

    name: str
    users: int = 0
    enrolment: bytes = bytes(32)
    groups: dict[Group, int] = field(default_factory=dict)
    refusals: dict[Refusal, int] = field(default_factory=dict)
    """Devices that said to their party that they may not answer, by code."""
    uplink_bits: int = 0
    implausible: int = 0
    """Reports that no honest device sends."""
    domain: int = 0
    """Slots of its last level, once it is done."""
    estimates: Estimates | None = None
    """What it counted, once it is done."""
    traces: list[LevelTrace] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def add(self, report: LevelReport) -> None:
        """Add what the party said with a reply."""
        self.traces += report.traces
        self.notes += report.notes
        self.implausible += report.implausible

    @property
    def levels(self) -> int:
        """Return the last level that the party reported on."""
        return max((trace.level for trace in self.traces), default=0)


@dataclass(frozen=True)
class QueryResult:
    """The document of a finished query."""

    document: bytes

    @property
    def content(self) -> dict[str, Any]:
        """Return it as `treetop find --json` prints an answer."""
        content: dict[str, Any] = json.loads(self.document)
        return content


def answer_of(
    task: DeviceTask,
    mechanism: Mechanism[Any],
    ranking: GlobalRanking,
    records: Sequence[PartyRecord],
    left: Mapping[str, str],
    *,
    listed: ItemList | None,
    choices: Sequence[Note],
    expected: ExpectedUsers,
    notes: Sequence[Note],
    fakes_needed: FakesNeeded | None,
    central: CentralGuarantee | None = None,
) -> Answer:
    """Return the answer of a query: what was found, by whom, and what a reader should know."""
    present = [entry for entry in records if entry.name not in left]
    missing = [entry for entry in records if entry.name in left]
    if task.sets is not None:
        ranking, present = _of_drawn_items(ranking, present)
    users = sum(entry.users for entry in present)
    parameters = parameters_of(task)
    delta = usual_delta(users) if central is None else central.delta
    promised = {entry.name: promised_guarantee(task, entry, delta) for entry in present}
    codec = codec_of(task, () if listed is None else listed.items)
    return Answer(
        mechanism=task.mechanism,
        oracle=task.oracle,
        encoding=task.encoding.name,
        k=task.k,
        epsilon=float(parameters.epsilon),
        seed=None,
        items=ranked_items(
            ranking,
            ranking.names_of(ranking.prefixes, codec.show),
            {entry.name: entry.estimates for entry in present if entry.estimates is not None},
            users,
        ),
        parties=tuple(
            AnswerParty(
                entry.name,
                entry.users,
                entry.uplink_bits,
                implausible=entry.implausible,
                share=entry.users / users,
                expected=expected.users.get(entry.name),
                coverage=expected.coverage(entry.name, entry.users),
                central=promised[entry.name],
            )
            for entry in present
        ),
        notes=(
            *plan_notes(task),
            *notes,
            *mechanism.notes.of_ranking(ranking),
            *(at_party(entry.name, note) for entry in records for note in join_levels(entry.notes)),
            *(at_party(name, note) for name, found in promised.items() for note in found.shortfall(central)),
        ),
        choices=(
            *(() if task.sets is None else choices_of_sets(task.sets, task.oracle, parameters.epsilon)),
            *(choices or mechanism.notes.choices(parameters)),
        ),
        missing=tuple(
            MissingParty(entry.name, left[entry.name], entry.levels, expected.users.get(entry.name))
            for entry in missing
        ),
        mode=mode_of(task),
        task=task.digest.hex(),
        name=task.name,
        covered=expected.covered(present, missing),
        levels=len(mechanism.levels(parameters)),
        privacy=Privacy(task.budget.text, 1, task.oracle, NOT_COVERED),
        fakes_needed=_fakes(task, ranking, present, fakes_needed),
        outside=_outside(task, ranking, users),
        items_per_user=None if task.sets is None else task.sets.items_per_user,
        reading=HOLDERS if task.sets is None else task.sets.reading,
        campaign=_campaign(task, records),
    )


def at_party(party: str, note: Note) -> Note:
    """Return a note about one party."""
    return Note("at_party", party=party, note=note)


def join_levels(notes: Sequence[Note]) -> list[Note]:
    """Join notes that differ in their level alone, where the first of them stands."""
    joined: dict[tuple[str, str], Note] = {}
    for note in notes:
        others = {name: value for name, value in note.parameters.items() if name != "levels"}
        key = (note.code, repr(others))
        if key in joined and "levels" in note.parameters:
            levels = (*joined[key].parameters["levels"], *note.parameters["levels"])
            joined[key] = Note(note.code, **others, levels=levels)
        else:
            joined.setdefault(key, note)
    return list(joined.values())


def _of_drawn_items(ranking: GlobalRanking, present: Sequence[PartyRecord]) -> tuple[GlobalRanking, list[PartyRecord]]:
    """Return both with the errors of counts to which users add some of their items only."""
    counted = [(entry.estimates, entry.users) for entry in present if entry.estimates is not None]
    found = [
        entry if entry.estimates is None else replace(entry, estimates=entry.estimates.of_drawn_items(entry.users))
        for entry in present
    ]
    return ranking.of_drawn_items_at(counted), found


def _campaign(task: DeviceTask, records: Sequence[PartyRecord]) -> CampaignPlace | None:
    """Return the week of a campaign that an answer is of; what changed is found where two answers are compared."""
    if task.campaign is None:
        return None
    refusals = {code.value: sum(entry.refusals.get(code, 0) for entry in records) for code in Refusal}
    return CampaignPlace(task.campaign.campaign, task.campaign.cycle + 1, task.campaign.week + 1, Refusals(**refusals))


def promised_guarantee(task: DeviceTask, entry: PartyRecord, delta: float) -> CentralGuarantee:
    """Return what is promised to a party's users against everybody who sees only the party's counts."""
    return central_guarantee(counted_groups(task, entry), parameters_of(task).epsilon, delta)


def counted_groups(task: DeviceTask, entry: PartyRecord) -> list[int]:
    """Return how many reports each counted group of a party has, by what it said when they were closed.

    Where names are reported, name and chunk are drawn with the report, and all of them are one group. In rounds devices
    were assigned and some did not answer: what a level's estimate counted is known, of a validation set only that it
    has the least number of reports. A level with fewer than any group needs was never counted.
    """
    if task.reports == "names":
        return [sum(entry.groups.values())]
    levels = devices_of_levels(entry.groups)
    counted = {trace.level: trace.reports for trace in entry.traces}
    least = min(task.least.estimate, task.least.validation)
    counts = []
    for group, devices in entry.groups.items():
        reports = devices
        if not task.one_shot:
            known = counted.get(group.level, least) if group.role is Role.ESTIMATE else task.least.validation
            reports = min(devices, known)
        if reports and levels[group.level] >= least:
            counts.append(reports)
    return counts


def _outside(task: DeviceTask, ranking: GlobalRanking, users: int) -> OutsideShare | None:
    """Return the share of users whose item is not on the catalogue."""
    if ranking.outside is None or not needs_list(task):
        return None
    return OutsideShare(ranking.outside.count / users, ranking.outside.variance**0.5 / users)


def _fakes(
    task: DeviceTask, ranking: GlobalRanking, present: Sequence[PartyRecord], fakes_needed: FakesNeeded | None
) -> int | None:
    """Return the fakes for the last place of the answer, at the party where the fewest suffice."""
    domains = [entry.domain for entry in present if entry.domain]
    if fakes_needed is None or not len(ranking) or not domains:
        return None
    oracle = parameters_of(task).oracle_for(max(domains) - 1)
    last = float(ranking.counts[-1])
    return fakes_needed(last if ranking.entry is None else min(last, ranking.entry), oracle.p, oracle.q)
