"""The plan beside a form: what an epsilon means to a person, and what the question could find."""

from dataclasses import dataclass
from functools import lru_cache

from treetop.encoding.item_codecs import Ids, ListedItems
from treetop.mechanisms.strategy import Strategy
from treetop.planning.modes import Lists
from treetop.planning.plan import DEFAULT_CATALOGUE, DEFAULT_WORD_LIST, Plan, PlanRow, plan
from treetop.privacy.epsilon import Epsilon
from treetop.privacy.shuffling import CentralGuarantee
from treetop.web.drawings.charts import FoundShare, found_shares
from treetop.web.drawings.promise import guesses_sentence, people, right_guesses
from treetop.web.drawings.svg import Picture, percent, whole
from treetop.web.question_form import AskedQuestion

IN_WORDS = (
    (55, "hardly better than a coin"),
    (65, "a hint"),
    (80, "a guess"),
    (92, "a good guess"),
    (100, "nearly sure"),
)
"""The strength of a guess, by the most right guesses of 100."""


@dataclass(frozen=True)
class PlanView:
    """The values of the template of a plan."""

    epsilon: str
    in_words: str
    sentence: str
    people: Picture
    mode: str
    facts: tuple[tuple[str, str], ...]
    shares: Picture


def mode_of(strategy: Strategy) -> str:
    """Return the mode of a plan that a strategy would run in."""
    if not strategy.mechanism.reports_names:
        return "canopy"
    if strategy.codec.name == ListedItems.name:
        return "catalogue"
    if strategy.codec.name == Ids.name:
        return "ids"
    return "texts" if strategy.known is None else "word list"


def plan_view(asked: AskedQuestion, users: tuple[int, ...], mode: str, items_per_user: int = 1) -> PlanView:
    """Plan a question to parties of these sizes, whose users' reports cover up to `items_per_user` items."""
    known = None if asked.known is None else len(asked.known.items)
    catalogue = known if known is not None and asked.query.catalogue is not None else max(DEFAULT_CATALOGUE, asked.k)
    words = known if known is not None and asked.query.word_list is not None else max(DEFAULT_WORD_LIST, asked.k)
    lists = Lists(max(catalogue, asked.k), max(words, asked.k))
    planned = _planned(users, asked.k, asked.epsilon, lists, items_per_user)
    row = next(each for each in planned.rows if each.mode == mode)
    epsilon = Epsilon(asked.epsilon)
    right = right_guesses(epsilon)
    return PlanView(
        epsilon=asked.epsilon,
        in_words=next(words for most, words in IN_WORDS if right <= most),
        sentence=guesses_sentence(epsilon, "item" if items_per_user == 1 else "set of items"),
        people=people(right),
        mode=mode,
        facts=_facts(planned, row),
        shares=found_shares(
            [FoundShare(each.mode, each.found, each.marked) for each in planned.rows], mode, "Smallest share found"
        ),
    )


@lru_cache(maxsize=256)
def _planned(users: tuple[int, ...], k: int, epsilon: str, lists: Lists, items: int) -> Plan:
    """Plan once for each position of the slider: a page requests the same plan again and again."""
    return plan(
        users,
        k=k,
        epsilon=float(epsilon),
        catalogue_size=lists.catalogue,
        word_list_size=lists.words,
        items_per_user=items,
    )


def _facts(planned: Plan, row: PlanRow) -> tuple[tuple[str, str], ...]:
    found = "nothing, with these users and this epsilon"
    if row.found is not None:
        found = (
            f"an item of {percent(row.found)} of users, in 9 of 10 runs" if row.found else "every item: all are listed"
        )
    marked = "none" if row.marked is None else f"from {percent(row.marked)} of users"
    error = "-" if row.stderr is None else f"± {whole(row.stderr)} users ({percent(row.stderr / planned.all_users)})"
    local = planned.parameters.epsilon
    return (
        ("Smallest share found", found),
        ("Marked as more than noise", marked),
        ("Expected error", error),
        ("A device sends", f"one report of about {row.report_bits} bits"),
        ("A party sends", f"at most about {row.uplink_bits / 8000:,.1f} kB"),
        (
            f"Smallest party ({min(planned.users):,} users)",
            CentralGuarantee(row.central_epsilon, planned.delta).beside(local),
        ),
    )
