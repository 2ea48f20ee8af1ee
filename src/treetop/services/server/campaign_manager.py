"""Run by the server: campaigns in, every week's task out when its week begins; a new start goes on from the journal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Event, RLock, Thread
from typing import Any

from pydantic import ValidationError

from treetop.adapters.system.telemetry import StructuredLog
from treetop.errors import InvalidInput, StoreDamaged, StoreUnavailable, TreetopError, UnknownName
from treetop.federation.campaign import Campaign
from treetop.federation.device.ledger import Caps
from treetop.federation.documents import canonical_json
from treetop.federation.ports import Signer
from treetop.federation.server.campaign_schedule import (
    MissWeek,
    NothingLeft,
    OrderWeek,
    WaitUntil,
    WeekDecision,
    earlier_weeks,
    first_unpaid,
    next_step,
    place_of,
    week_order,
    what_helps,
)
from treetop.federation.server.planning import QueryOrder, planned_task
from treetop.federation.service_ports import Journal, ServiceClock
from treetop.federation.wire.signed_documents import signed_campaign, unverified_content
from treetop.mechanisms.earlier_weeks import EarlierWeeks
from treetop.metrics.changes import WeeklyCount, changes
from treetop.public_text import visible
from treetop.services.server.query_manager import CAMPAIGN, RETRY_SECONDS, QueryManager, WeeklyOrder
from treetop.services.server.schemas import CampaignPhase, CampaignShown, CampaignWanted, ItemShown, WeekShown

CAMPAIGNS = "campaigns"
DOCUMENT = "document"
STOPPED = "stopped"
LONGEST_PAUSE = 1.0
"""Seconds between two looks at the clock: it may be set, and an answer that a week waits for may come."""


@dataclass(frozen=True, eq=False)
class _Asked:
    """A campaign of this server, and what it asks in every week."""

    campaign: Campaign
    order: QueryOrder
    document: bytes

    @property
    def digest(self) -> str:
        return self.campaign.digest.hex()

    @property
    def book(self) -> str:
        return f"campaign:{self.digest}"


class CampaignManager:
    """All campaigns of one server. One thread orders their weeks; whoever calls `advance` in its place may do so."""

    def __init__(
        self, journal: Journal, signer: Signer, queries: QueryManager, *, clock: ServiceClock, log: StructuredLog
    ) -> None:
        self._journal = journal
        self._signer = signer
        self._queries = queries
        self._clock = clock
        self._log = log
        self._campaigns: dict[str, _Asked] = {}
        self._failed: dict[tuple[str, int], str] = {}
        """Weeks that could not be begun, and why."""
        self._lock = RLock()
        self._wake = Event()
        self._stop = Event()

    def resume(self) -> None:
        """Take up every campaign that was started before, and with them all queries of this server."""
        for digest, content in self._journal.read(CAMPAIGNS).items():
            try:
                self._keep(digest, CampaignWanted.model_validate_json(content))
            except (TreetopError, ValidationError) as refusal:
                self._log.say("campaign_not_taken_up", campaign=digest, kind=type(refusal).__name__)
        self._queries.resume(self._weekly_order)

    def start(self) -> None:
        """Order weeks when they begin, from now on."""
        Thread(target=self._run, name="campaigns", daemon=True).start()

    def stop(self) -> None:
        """Order nothing more in this process; the campaigns go on after the next start."""
        self._stop.set()
        self._wake.set()

    def take(self, wanted: CampaignWanted) -> CampaignShown:
        """Keep a campaign and begin with it; the same campaign again is the same one, stopped or not."""
        with self._lock:
            order = self._queries.ordered(wanted)
            first_week = week_order(wanted.campaign(order), order, 0, EarlierWeeks())
            order = order.reporting(first_week.local_epsilon)
            campaign = wanted.campaign(order)
            settled = wanted.with_order(order)
            digest = campaign.digest.hex()
            now = self._clock.now()
            if digest not in self._campaigns:
                self._refuse_clash(campaign, now)
                self._journal.write(CAMPAIGNS, digest, canonical_json(settled.model_dump()))
                self._keep(digest, settled, campaign)
                self._log.say("campaign_begun", campaign=digest, weeks=campaign.weeks, cycles=campaign.cycles)
                self._wake.set()
            return self.state(digest)

    def end(self, named: str) -> CampaignShown:
        """Order no further week of a campaign, ever; the week that is under way is still answered."""
        with self._lock:
            asked = self._named(named)
            self._journal.write(asked.book, STOPPED, canonical_json({"at": self._clock.now()}))
            self._log.say("campaign_stopped", campaign=asked.digest)
            return self.state(asked.digest)

    def document(self, named: str) -> bytes:
        """Return the signed campaign."""
        return self._named(named).document

    def states(self) -> list[CampaignShown]:
        """Return all campaigns, the oldest one first, without their answers."""
        return [self._shown(asked, answers=False) for asked in self._campaigns.values()]

    def state(self, named: str) -> CampaignShown:
        """Return how far a campaign is, and what its weeks answered; it is named by its digest or its name."""
        return self._shown(self._named(named), answers=True)

    def advance(self) -> float:
        """Do all that is due now; return the second from which on there may be more to do."""
        with self._lock:
            return min((self._advanced(asked) for asked in self._campaigns.values()), default=float("inf"))

    def _run(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            try:
                pause = min(max(self.advance() - self._clock.now(), 0.0), LONGEST_PAUSE)
            except Exception as error:  # the store may be away: the journal has not moved
                self._log.failure("campaigns_paused", error)
                pause = RETRY_SECONDS
            self._wake.wait(pause)

    def _advanced(self, asked: _Asked) -> float:
        """Decide and begin weeks of a campaign until there is nothing to do about it."""
        kept = self._journal.read(asked.book)
        while True:
            decided = _decisions(kept)
            if decided and decided[-1].answers is not None:
                self._begin(asked, len(decided) - 1)
            step = next_step(
                asked.campaign,
                len(decided),
                self._clock.now(),
                stopped=STOPPED in kept,
                settled=self._settled(asked, len(decided) - 1),
            )
            match step:
                case NothingLeft():
                    return float("inf")
                case WaitUntil(second):
                    return second
                case OrderWeek():
                    decision = WeekDecision(self._answered_before(asked, len(decided)))
                case MissWeek():
                    decision = WeekDecision(None)
                    self._log.say("week_missed", campaign=asked.digest, week=len(decided) + 1)
            entry = f"week:{len(decided)}"
            kept = {**kept, entry: self._journal.write(asked.book, entry, decision.to_bytes())}

    def _begin(self, asked: _Asked, number: int) -> None:
        """Begin a week that was decided; one that cannot be asked any more is lost, and the next ones are tried."""
        if self._task(asked, number) is not None or (asked.digest, number) in self._failed:
            return
        weekly = self._weekly_order(asked.digest, number)
        try:
            if weekly is not None:
                asked.campaign.check_task(planned_task(weekly.order))
                self._queries.take_week(weekly)
        except TreetopError as refusal:
            if isinstance(refusal, StoreDamaged | StoreUnavailable):
                raise
            self._failed[asked.digest, number] = visible(str(refusal))
            self._log.say("week_not_begun", campaign=asked.digest, week=number + 1, kind=type(refusal).__name__)

    def _settled(self, asked: _Asked, number: int) -> bool:
        """Return whether nobody waits for a week's answer any more: it has one, failed, was missed, or helps nobody."""
        task = self._task(asked, number)
        return task is None or what_helps(asked.order) is None or self._queries.state(task).state != "running"

    def _task(self, asked: _Asked, number: int) -> str | None:
        return self._queries.task_of_week(asked.digest, number)

    def _answered_before(self, asked: _Asked, number: int) -> tuple[str, ...]:
        """Return the tasks of earlier weeks that have an answer now, the newest first."""
        tasks = (self._task(asked, earlier) for earlier in reversed(range(number)))
        return tuple(task for task in tasks if task is not None and self._queries.answer(task) is not None)

    def _weekly_order(self, campaign: str, number: int) -> WeeklyOrder | None:
        """Return what a week asks, as the journal has decided it; None for a campaign that was not taken up."""
        asked = self._campaigns.get(campaign)
        if asked is None:
            return None
        kept = self._journal.get(asked.book, f"week:{number}")
        if kept is None:
            raise StoreDamaged(campaign, f"the decision about week {number + 1} is missing")
        tasks = WeekDecision.from_bytes(kept).answers or ()
        answers = [self._queries.answer(task) or {"items": []} for task in tasks]
        earlier = earlier_weeks(answers, self._queries.seeds(tasks[0]) if tasks else "")
        order = week_order(asked.campaign, asked.order, number, earlier)
        return WeeklyOrder(campaign, number, order, asked.document)

    def _keep(self, digest: str, wanted: CampaignWanted, planned: Campaign | None = None) -> None:
        """Take a campaign up: the document that was signed first is the one that counts, whatever is planned today."""
        order = wanted.order(self._queries.parties, self._queries.item_list)
        signed = self._journal.get(f"campaign:{digest}", DOCUMENT)
        if signed is None:
            made = signed_campaign(planned or wanted.campaign(order), self._signer)
            signed = self._journal.write(f"campaign:{digest}", DOCUMENT, made)
        campaign = Campaign.from_canonical_bytes(unverified_content(signed).encode("ascii"))
        if campaign.digest.hex() != digest:
            raise InvalidInput("campaign_differs", digest=digest, found=campaign.digest.hex())
        self._campaigns[digest] = _Asked(campaign, order, signed)

    def _refuse_clash(self, campaign: Campaign, now: int) -> None:
        """Refuse what devices would: another campaign under a name that is in use, and one that is over."""
        if campaign.over <= now:
            raise InvalidInput("campaign_over", over=campaign.over, now=now)
        for asked in self._campaigns.values():
            running = asked.campaign.over > now and self._journal.get(asked.book, STOPPED) is None
            if running and asked.campaign.name == campaign.name:
                raise InvalidInput("campaign_name_taken", name=campaign.name)

    def _named(self, named: str) -> _Asked:
        """Return the campaign of a digest, or the newest one of a name."""
        if named in self._campaigns:
            return self._campaigns[named]
        for asked in reversed(self._campaigns.values()):
            if asked.campaign.name == named:
                return asked
        raise UnknownName(CAMPAIGN, named, ())

    def _shown(self, asked: _Asked, *, answers: bool) -> CampaignShown:
        campaign = asked.campaign
        kept = self._journal.read(asked.book)
        now = self._clock.now()
        decided = _decisions(kept)
        place = campaign.place_at(now)
        expected = [asked.order.expected.get(party, 0) for party in campaign.template.parties]
        silence = first_unpaid(campaign, Caps())
        state: CampaignPhase = "running"
        if STOPPED in kept:
            state = "stopped"
        elif now < campaign.starts:
            state = "waiting"
        elif place is None:
            state = "over"
        return CampaignShown(
            campaign=asked.digest,
            name=visible(campaign.name),
            attribute=visible(campaign.attribute),
            epsilon=campaign.budget.text,
            k=campaign.template.k,
            mechanism=campaign.template.mechanism,
            encoding=campaign.template.encoding.name,
            parties=list(campaign.template.parties),
            items_per_user=None if asked.order.query.sets is None else asked.order.query.items_per_user,
            listed=0 if asked.order.listed is None else len(asked.order.listed.items),
            expected=dict(asked.order.expected),
            expected_reports=round(sum(expected) / campaign.weeks) if all(expected) else None,
            silent_from=None if silence is None else silence[0],
            silent_because=None if silence is None else silence[1],
            starts=campaign.starts,
            every=campaign.every,
            weeks=campaign.weeks,
            cycles=campaign.cycles,
            over=campaign.over,
            state=state,
            week=None if place is None or state == "stopped" else place[0] * campaign.weeks + place[1] + 1,
            answers=self._weeks(asked, decided) if answers else [],
        )

    def _weeks(self, asked: _Asked, decided: Sequence[WeekDecision]) -> list[WeekShown]:
        """Return what became of every week that was decided, each compared with the last one that has an answer."""
        missed = "no server was there to order it"
        shown: list[WeekShown] = []
        before: tuple[int, Mapping[str, Any]] | None = None
        for number, decision in enumerate(decided):
            cycle, week = place_of(asked.campaign, number)
            task = self._task(asked, number)
            state = None if task is None else self._queries.state(task)
            answer = None if task is None else self._queries.answer(task)
            facts: dict[str, Any] = {} if answer is None else _facts_of(answer, before, asked.campaign.template.k)
            shown.append(
                WeekShown(
                    number=number + 1,
                    cycle=cycle + 1,
                    week=week + 1,
                    task=task,
                    opens=asked.campaign.opens(cycle, week),
                    ends=asked.campaign.ends(cycle, week),
                    state="missed" if decision.answers is None else "failed" if state is None else state.state,
                    doing=self._failed.get((asked.digest, number), missed) if state is None else state.doing,
                    **facts,
                )
            )
            if answer is not None:
                before = number + 1, answer
        return shown


def _decisions(kept: Mapping[str, bytes]) -> list[WeekDecision]:
    """Return what was decided, week by week."""
    decided: list[WeekDecision] = []
    while (content := kept.get(f"week:{len(decided)}")) is not None:
        decided.append(WeekDecision.from_bytes(content))
    return decided


def _facts_of(answer: Mapping[str, Any], before: tuple[int, Mapping[str, Any]] | None, k: int) -> dict[str, Any]:
    """Return what is shown of an answer: who reported, and the items with what changed."""
    found = () if before is None else changes(_counts(before[1]), _counts(answer), k)
    marks = {each.item: {"change": each.mark, "score": each.score} for each in found}
    names = ("item", "count", "frequency", "stderr", "significant", "source")
    shown = [{name: row[name] for name in names} | marks.get(row["item"], {}) for row in answer["items"]]
    return {
        "reports": answer["covered"]["users"],
        "refusals": answer["campaign"]["refusals"],
        "items": list(map(ItemShown.model_validate, shown)),
        "compared_with": None if before is None else before[0],
        "gone": [each.item for each in found if each.mark == "gone"],
    }


def _counts(answer: Mapping[str, Any]) -> list[WeeklyCount]:
    users = answer["covered"]["users"]
    sets = answer["items_per_user"] is not None
    return [WeeklyCount(row["item"], row["count"], row["stderr"], users, sampled=sets) for row in answer["items"]]
