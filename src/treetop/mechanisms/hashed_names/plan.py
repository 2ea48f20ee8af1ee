"""What the search for hashed names chooses before the first report, from public quantities only."""

from dataclasses import dataclass

from treetop.encoding.hashed_text import shared_hash_chance
from treetop.encoding.text_code import CHUNK_VALUES
from treetop.mechanisms.canopy import CanopyPlan, SearchParameters
from treetop.mechanisms.panorama.plan import WORD_SHARE, text_chunks, text_share
from treetop.mechanisms.parameters import setting, whole_number
from treetop.trie.global_ranking import COUNT_BITS
from treetop.trie.party_counts import UNARY_BITS
from treetop.trie.user_groups import level_weights

LONG_STEP, SHORT_STEP = 12, 8
BUDGET_PER_ITEM, MIN_BUDGETED = 25_000, 10
"""Bits a party may expect to send for each of the k items unless told otherwise: 250,000 at k = 10."""
MIN_KEPT_WITH_TEXTS, MIN_KEPT = 20, 30


@dataclass(frozen=True)
class HashedParameters(SearchParameters):
    """A search for hashes, whose names a word list reads."""

    expected_items: int = setting(
        0, "", "Hashed names: different items expected; more than 100,000 take 32 bits, fewer 24. 0: not known.",
        whole_number(0, 1 << 40),
    )  # fmt: skip


@dataclass(frozen=True)
class HashedTextParameters(HashedParameters):
    """The same, where some users report a part of their text."""

    text_share: float = text_share()
    text_chunks: int = text_chunks()


@dataclass(frozen=True)
class HashedPlan:
    """The levels of the search, the hashes whose text is asked for, and the users of each kind of report."""

    search: CanopyPlan
    asked: int
    """Hashes that go on to the texts, or to the closing round."""
    weights: tuple[float, ...]
    """Of the levels, and of the texts behind them where they are asked for."""
    chunks: int
    """Chunks of a text; 0 where texts are not asked for."""

    @classmethod
    def of(cls, parameters: HashedParameters) -> "HashedPlan":
        """Take levels of 12 bits where their expected upload fits the budget, else of 8."""
        budget = parameters.upload_budget or BUDGET_PER_ITEM * max(parameters.k, MIN_BUDGETED)
        wide, narrow = (cls.stepping(parameters, step) for step in (LONG_STEP, SHORT_STEP))
        return wide if wide.expected_bits(parameters.k) <= budget else narrow

    @classmethod
    def stepping(cls, parameters: HashedParameters, step: int) -> "HashedPlan":
        """Keep t = max(2k, 30), or max(2k, 20) where the texts take their part of the upload."""
        k, texts = parameters.k, isinstance(parameters, HashedTextParameters)
        kept = parameters.kept or max(2 * k, MIN_KEPT_WITH_TEXTS if texts else MIN_KEPT)
        search = CanopyPlan.stepping(parameters, step, kept)
        if not isinstance(parameters, HashedTextParameters):
            return cls(search, k, tuple(level_weights(search.L, "equal", 0.0)), 0)
        share = parameters.text_share or WORD_SHARE
        weights = (*([(1 - share) / search.L] * search.L), share)
        return cls(search, max(k + k // 2, k + 5), weights, parameters.text_chunks)

    def expected_bits(self, k: int) -> int:
        """Return what a party will send: the levels, the chunks of unread texts, and two counts for each hash."""
        unary = UNARY_BITS[self.search.signed]
        texts = round(self.asked * self.chunks * CHUNK_VALUES * unary) + self.chunks * COUNT_BITS
        return self.search.expected_bits(k) + texts + (self.asked * 2 - k) * COUNT_BITS


def hashed_choices(parameters: HashedParameters) -> tuple[str, ...]:
    """Say what was chosen and why, for the reader of an answer."""
    plan = HashedPlan.of(parameters)
    steps = "-".join(str(length) for length in plan.search.lengths[1:])
    return (
        _hash_choice(parameters),
        f"searched in {plan.search.L} levels ({steps} bits), {plan.search.kept} hashes kept after each",
        _text_choice(plan),
        f"about {plan.expected_bits(parameters.k) / 1000:,.0f} kbit up per party expected",
    )


def _hash_choice(parameters: HashedParameters) -> str:
    named = f"a name is the first {parameters.bits} bits of its salted hash"
    if not parameters.expected_items:
        return named
    chance = shared_hash_chance(parameters.expected_items, parameters.bits)
    return f"{named}: with {parameters.expected_items:,} items, one shares it with another by a chance of {chance:.2%}"


def _text_choice(plan: HashedPlan) -> str:
    if not plan.chunks:
        return "all users search; names are read from the word list"
    shares = " : ".join(f"{weight:.0%}" for weight in plan.weights)
    return (
        f"users {shares}, the last share for texts: {plan.chunks} chunks of 8 bits, "
        f"read for the {plan.asked} best hashes that are on no list"
    )
