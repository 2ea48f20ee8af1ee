"""Run by the server: which week of a campaign is ordered when, and what is asked in it.

Weeks are decided one after the other, each once: ordered while it lasts, or missed. A decision is in the journal before
anything is done about it, and says which earlier answers the week builds on; all the rest, down to the bytes of its
task, follows from the journal. So a server that was killed at any moment goes on to the same tasks, and one whose clock
was set back orders nothing again.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from treetop.errors import InvalidInput
from treetop.federation.campaign import DAY, Campaign, template_of
from treetop.federation.device.ledger import Caps
from treetop.federation.documents import canonical_json
from treetop.federation.server.planning import QueryOrder, planned_task
from treetop.federation.task import Deadlines
from treetop.federation.wire.item_lists import LONGEST_ITEM, LONGEST_SOURCE
from treetop.mechanisms.earlier_weeks import EarlierWeeks
from treetop.trie.seeds import SEEDS, Seeds

LONGEST_WAIT = DAY
"""A week waits for the answer of the week before so many seconds, half of its own length at most; then it goes without.
"""
Cap = Literal["task", "window", "lifetime"]
"""What a device's owner limits."""


@dataclass(frozen=True)
class WeekDecision:
    """What was decided about a week."""

    answers: tuple[str, ...] | None
    """Digests of the earlier weeks' tasks whose answers it builds on, the newest first; None: it was missed."""

    def to_bytes(self) -> bytes:
        """Return it as the journal keeps it."""
        return canonical_json({"answers": self.answers})

    @classmethod
    def from_bytes(cls, content: bytes) -> "WeekDecision":
        """Read it back."""
        answers = json.loads(content)["answers"]
        return cls(None if answers is None else tuple(answers))


@dataclass(frozen=True)
class OrderWeek:
    """The next week is to be ordered now."""


@dataclass(frozen=True)
class MissWeek:
    """The next week ended before it was ordered: it is lost, and so are the slots of the devices that drew it."""


@dataclass(frozen=True)
class WaitUntil:
    """Nothing is to be done before that second."""

    second: int


@dataclass(frozen=True)
class NothingLeft:
    """All weeks are decided, or the campaign was stopped."""


Step = OrderWeek | MissWeek | WaitUntil | NothingLeft


def next_step(campaign: Campaign, decided: int, now: int, *, stopped: bool, settled: bool) -> Step:
    """Return what to do about the first week that is not decided; `settled`: the one before owes no answer any more."""
    if stopped or decided >= campaign.weeks * campaign.cycles:
        return NothingLeft()
    opens = campaign.opens(*place_of(campaign, decided))
    ends = campaign.ends(*place_of(campaign, decided))
    if now < opens:
        return WaitUntil(opens)
    if now >= ends:
        return MissWeek()
    if not settled and now < (latest := opens + min(campaign.every // 2, LONGEST_WAIT)):
        return WaitUntil(latest)
    return OrderWeek()


def place_of(campaign: Campaign, number: int) -> tuple[int, int]:
    """Return cycle and week of the week with that number, counted from 0 through all cycles."""
    return divmod(number, campaign.weeks)


def campaign_of(order: QueryOrder, *, starts: int, every: int, weeks: int, cycles: int) -> Campaign:
    """Return the campaign that asks an order every week, or refuse one that devices would not follow to its end."""
    if order.mode != "one-shot":
        raise InvalidInput("campaign_in_rounds", mode=order.mode)
    campaign = Campaign(template_of(planned_task(order)), starts, every, weeks, cycles)
    for number, earlier in ((0, EarlierWeeks()), (weeks * cycles - 1, _longest_ago(order))):
        campaign.check_task(planned_task(week_order(campaign, order, number, earlier)))
    return campaign


def first_unpaid(campaign: Campaign, caps: Caps) -> tuple[int, Cap] | None:
    """Return when a device with these caps that follows a campaign from its start refuses first, and by which cap.

    It pays for a cycle when it first sees it.
    """
    epsilon = campaign.budget.amount
    before_renewal = (caps.window_seconds - 1) // (campaign.every * campaign.weeks)
    for cycle in range(campaign.cycles):
        recent = min(cycle, before_renewal)
        now = campaign.opens(cycle, 0)
        if epsilon > caps.per_task:
            return now, "task"
        if (cycle + 1) * epsilon > caps.lifetime:
            return now, "lifetime"
        if (recent + 1) * epsilon > caps.window:
            return now, "window"
    return None


def week_order(campaign: Campaign, order: QueryOrder, number: int, earlier: EarlierWeeks) -> QueryOrder:
    """Return what is asked in a week after others.

    A device answers in one week of a cycle: of the users expected, one in W.
    """
    place = place_of(campaign, number)
    opens = campaign.opens(*place)
    ends = campaign.ends(*place)
    week = replace(
        order,
        name=campaign.task_name(*place),
        campaign=campaign.week(*place),
        deadlines=Deadlines(opens, ends, ends, order.deadlines.level_seconds),
        expected={party: -(-users // campaign.weeks) for party, users in order.expected.items()},
    )
    learns = what_helps(order)
    if learns == "names" and earlier.names:
        words = earlier.joined_to(order.query.word_list)
        words = replace(words, source=words.source[:LONGEST_SOURCE])
        return replace(week, query=replace(order.query, word_list=words))
    if learns == "codes" and earlier.seeds:
        settings = {**order.query.settings, "seeds": str(earlier.seeds)}
        return replace(week, query=replace(order.query, settings=settings))
    return week


def what_helps(order: QueryOrder) -> Literal["names", "codes"] | None:
    """Return what a week takes from earlier answers: names of hashes, or codes that stay the same from week to week.

    Where all items are known, or every id is counted anyway, nothing helps.
    """
    strategy = order.planned.strategy
    if strategy.mechanism.reports_names:
        return "names" if strategy.codec.hashes else None
    return "codes" if "seeds" in strategy.parameters.settings() and not strategy.codec.hashes else None


def earlier_weeks(answers: Sequence[Mapping[str, Any]], seeds: str) -> EarlierWeeks:
    """Return what answers give to the next week, the newest answer first; a hash that nobody could read is no name.

    `seeds` are those that the newest answer's ranking named.
    """
    named = dict.fromkeys(
        row["item"] for answer in answers for row in answer["items"] if row["source"] in {"listed", "recovered"}
    )
    return EarlierWeeks(tuple(name for name in named if _can_be_listed(name))[:SEEDS], Seeds.read(seeds))


def _can_be_listed(name: str) -> bool:
    try:
        return 0 < len(name.encode("utf-8")) <= LONGEST_ITEM
    except UnicodeEncodeError:
        return False


def _longest_ago(order: QueryOrder) -> EarlierWeeks:
    """Return as much as earlier weeks can give, to see whether a week would still be one of the campaign."""
    codes = range(min(SEEDS, 1 << order.planned.strategy.parameters.bits))
    names = tuple(f"name {index} of an earlier week" for index in range(SEEDS))
    return EarlierWeeks(names, Seeds(tuple(codes), (0.0,) * len(codes)))
