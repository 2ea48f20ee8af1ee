"""What the search for hashed names chooses before the first report, from public quantities only."""

from dataclasses import dataclass, replace

from treetop.encoding.hashed_text import shared_hash_chance
from treetop.encoding.text_code import CHUNK_VALUES
from treetop.mechanisms.canopy_plan import CanopyPlan
from treetop.mechanisms.parameters import Parameters
from treetop.trie.global_ranking import COUNT_BITS
from treetop.trie.level_weights import level_weights
from treetop.trie.quantised_counts import UNARY_BITS

LONG_STEP, SHORT_STEP = 12, 8
BUDGET_PER_ITEM, LEAST_BUDGETED = 25_000, 10
"""Bits a party may expect to send for each of the k items unless told otherwise: 250,000 at k = 10."""
LEAST_KEPT_WITH_TEXTS, LEAST_KEPT = 20, 30


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
    def of(cls, parameters: Parameters, texts: bool) -> "HashedPlan":
        """Take levels of 12 bits where their expected upload fits the budget, else of 8."""
        budget = parameters.upload_budget or BUDGET_PER_ITEM * max(parameters.k, LEAST_BUDGETED)
        wide, narrow = (cls.stepping(parameters, texts, step) for step in (LONG_STEP, SHORT_STEP))
        return wide if wide.expected_bits(parameters.k) <= budget else narrow

    @classmethod
    def stepping(cls, parameters: Parameters, texts: bool, step: int) -> "HashedPlan":
        """Keep t = max(2k, 30), or max(2k, 20) where the texts take their part of the upload."""
        k = parameters.k
        kept = parameters.kept or max(2 * k, LEAST_KEPT_WITH_TEXTS if texts else LEAST_KEPT)
        search = CanopyPlan.stepping(replace(parameters, kept=kept), step)
        if not texts:
            return cls(search, k, tuple(level_weights(search.L, "equal", 0.0)), 0)
        share = parameters.text_share
        weights = (*([(1 - share) / search.L] * search.L), share)
        return cls(search, max(k + k // 2, k + 5), weights, parameters.text_chunks)

    def expected_bits(self, k: int) -> int:
        """Return what a party will send: the levels, the chunks of unread texts, and two counts for each hash."""
        unary = UNARY_BITS[self.search.signed]
        texts = round(self.asked * self.chunks * CHUNK_VALUES * unary) + self.chunks * COUNT_BITS
        return self.search.expected_bits(k) + texts + (self.asked * 2 - k) * COUNT_BITS


def hashed_choices(parameters: Parameters, texts: bool) -> tuple[str, ...]:
    """Say what was chosen and why, for the reader of an answer."""
    plan = HashedPlan.of(parameters, texts)
    steps = "-".join(str(length) for length in plan.search.lengths[1:])
    return (
        _hash_choice(parameters),
        f"searched in {plan.search.L} levels ({steps} bits), {plan.search.kept} hashes kept after each",
        _text_choice(plan),
        f"about {plan.expected_bits(parameters.k) / 1000:,.0f} kbit up per party expected",
    )


def _hash_choice(parameters: Parameters) -> str:
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
