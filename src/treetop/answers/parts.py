"""What an answer consists of: its items, its parties, who is missing, and what was promised."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treetop.mechanisms.dialogue import LevelTrace
from treetop.metrics.changes import Mark
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.guarantee import Guarantee
from treetop.privacy.shuffling import CentralGuarantee
from treetop.trie.global_ranking import GlobalRanking, Source
from treetop.trie.support import Estimates


@dataclass(frozen=True)
class PartyCount:
    """What one party counted of an item."""

    party: str
    count: float
    stderr: float


@dataclass(frozen=True)
class AnswerItem:
    """One of the k items."""

    item: str
    count: float
    """Estimated users, summed over the parties that named the item; signed, and unbiased for an item fixed beforehand.

    Of items that are named because their estimates came out large, weak ones are too high on average.
    """
    frequency: float
    stderr: float
    """Standard error of the count."""
    significant: bool | None = None
    """Whether noise alone would hardly show it (5 % of runs mark an item that nobody holds); None: not tested."""
    source: Source | None = None
    """With hashed names: whether a word list named it, its text was recovered, or it is an unknown hash."""
    parties: int | None = None
    """How many parties named it; the others add nothing to the count. None: not known."""
    true_count: int | None = None
    """Where the data are known: how many users really hold it."""
    by_party: tuple[PartyCount, ...] = ()
    """The count of every party that named it; they add up to the item's."""


@dataclass(frozen=True)
class AnswerParty:
    """What one party did and sent."""

    name: str
    users: int
    uplink_bits: int
    implausible: int = 0
    """Reports that no honest device would send."""
    share: float = 1.0
    """Of all users that were counted."""
    expected: int | None = None
    """Users it was expected to have; None: nobody said."""
    coverage: float | None = None
    """Users counted / users expected."""
    central: CentralGuarantee | None = None
    """What is promised towards the server and readers, if the party is honest."""
    items: tuple[str, ...] = ()
    """Its own top k, where that is known."""
    trace: tuple[LevelTrace, ...] = ()
    """What happened at each of its levels, where that is known."""


@dataclass(frozen=True)
class MissingParty:
    """A party that is not part of the answer."""

    name: str
    reason: str
    levels: int
    """The last level that it reported."""
    expected: int | None = None
    """Users it was expected to have; None: nobody said."""


@dataclass(frozen=True)
class Covered:
    """How many users the answer stands for."""

    users: int
    of: str
    """What `known` counts: the users who were `expected`, or those who are `known` to the server."""
    known: int
    share: float | None
    """None where nobody knows how many users a missing party has."""


@dataclass(frozen=True)
class Privacy:
    """What every user was promised."""

    epsilon: str
    """In decimal digits, exactly as devices computed with it."""
    reports_per_user: int
    oracle: str
    not_covered: str
    """The page that says what the promise does not cover."""

    def __str__(self) -> str:
        return self.about("item")

    def about(self, what: str) -> str:
        """Say what was promised, for one of what a user holds against another."""
        return Guarantee(Epsilon(self.epsilon), self.oracle, self.reports_per_user).about(what)


@dataclass(frozen=True)
class OutsideShare:
    """The estimated share of users whose item is not in the catalogue."""

    share: float
    stderr: float
    true_share: float | None = None


@dataclass(frozen=True)
class ItemChange:
    """What became of an item since the week before (`metrics.changes`)."""

    item: str
    mark: Mark | None
    """Up or down: its share changed beyond noise. New, gone: the other week does not count it. None: may be noise."""
    score: float | None
    """By how many standard deviations the shares differ; None where one week has no estimate."""


@dataclass(frozen=True)
class Refusals:
    """Devices that may not answer, by the public code that they tell."""

    not_my_week: int = 0
    budget_window: int = 0
    budget_lifetime: int = 0
    budget_task: int = 0


@dataclass(frozen=True)
class CampaignPlace:
    """Which week of a campaign the answer is of, and what changed."""

    campaign: str
    """Digest of the signed campaign."""
    cycle: int
    """From 1 on, as are weeks."""
    week: int
    refusals: Refusals
    """How many devices gave their party a reason not to answer."""
    compared_with: int | None = None
    """Number of the week that it is compared with, counted through all cycles; None: none before has an answer."""
    changes: tuple[ItemChange, ...] = ()
    """The items of the answer in their order, then those that are gone; none where it was compared with nothing."""


@dataclass(frozen=True)
class Truth:
    """The answer scored against the ground truth."""

    f1: float
    ncr: float


def ranked_items(
    ranking: GlobalRanking,
    names: Sequence[tuple[str, Source | None]],
    counted: Mapping[str, Estimates],
    users: int,
    true_counts: Sequence[int] | None = None,
) -> tuple[AnswerItem, ...]:
    """Return the items of a ranking under their names, with what every party counted of each.

    Where the data are known, the true counts stand beside them, and how many parties named each item.
    """
    by_party = {party: found.by_prefix for party, found in counted.items()}
    items = []
    for index, code in enumerate(ranking.prefixes.tolist()):
        count = float(ranking.counts[index])
        name, source = names[index]
        items.append(
            AnswerItem(
                name,
                count,
                count / users,
                float(ranking.variances[index]) ** 0.5,
                None if ranking.significant is None else bool(ranking.significant[index]),
                source,
                None if true_counts is None else int(ranking.parties[index]),
                None if true_counts is None else true_counts[index],
                tuple(PartyCount(party, *found[code]) for party, found in by_party.items() if code in found),
            )
        )
    return tuple(items)
