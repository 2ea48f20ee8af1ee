"""What Panorama chooses before the first report, from public quantities only."""

from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

from treetop.encoding.bit_strings import SHORTEST
from treetop.encoding.item_codecs import DEFAULT_HASH_KEY
from treetop.encoding.text_code import CHUNK_VALUES, DEFAULT_CHUNKS, MAX_CHUNKS
from treetop.mechanisms.panorama.discovery import expected_bits, tau_within
from treetop.mechanisms.parameters import code_bits, number, setting, whole_number
from treetop.mechanisms.summed_level import SummedParameters, upload_budget
from treetop.trie.lower_confidence import ScoreRule
from treetop.trie.quantised_counts import COUNT_BITS, UNARY_BITS
from treetop.trie.significance import MAX_SETS_OF, threshold

NAME_BITS, MAX_NAME_BITS = 24, 26
MAX_ITEMS_OF_SHORT_NAMES = 100_000
DEFAULT_BUDGET = 1_500_000
EVEN_CHANCE = 0.5
MAX_ASKED, SHARE_ASKED = 1 << 14, 0.25
"""Names on no list that all parties count, and the part of what is left of the budget that their counts may take."""
SPARE = 30
"""Names beyond k whose signed counts are asked for: of the listed ones, and of the others."""
MAX_READ, SHARE_READ = 90, 0.6
"""Names on no list whose texts are read, and the part of the budget that their chunks may take."""
WORD_CHUNKS = (0.29, 0.29, 0.23, 0.11, 0.04)
"""How often the words of the public corpus need each chunk of their code; every later one half as often again."""
WORD_SHARE, LONG_TEXT_SHARE = 0.3, 0.45
"""rho where texts are words, and where more chunks are asked for than words need."""


def name_bits_for(expected_items: int) -> int:
    """Return 24 bits up to about 10^5 different items, 26 above: every bit more doubles the names that noise lifts."""
    return NAME_BITS if expected_items <= MAX_ITEMS_OF_SHORT_NAMES else MAX_NAME_BITS


@dataclass(frozen=True)
class PanoramaParameters(SummedParameters):
    """What a party may send, and who reports a part of a text; `bits` are those of a name."""

    tiny: ClassVar = {"bits": 8, "text_chunks": 1}

    bits: int = code_bits(NAME_BITS)
    upload_budget: int = upload_budget()
    text_share: float = setting(
        0.0, "",
        f"Hashed names: share of users who report a part of their text. 0: {WORD_SHARE}, or {LONG_TEXT_SHARE} with "
        f"more than {DEFAULT_CHUNKS} chunks.",
        number("a number from 0 to below 1", lambda share: 0 <= share < 1),
    )  # fmt: skip
    text_chunks: int = setting(
        DEFAULT_CHUNKS, "", "Hashed names: parts of 8 bits that a text's code is cut into.", whole_number(1, MAX_CHUNKS)
    )
    expected_items: int = setting(
        0, "", "Hashed names: different items expected; more than 100,000 take 26 bits, fewer 24. 0: not known.",
        whole_number(0, 1 << 40),
    )  # fmt: skip

    @property
    def rho(self) -> float:
        """Return the share of users who report a chunk: as told, or more of them for long texts."""
        return self.text_share or (LONG_TEXT_SHARE if self.text_chunks > DEFAULT_CHUNKS else WORD_SHARE)

    def rule(self, parties: int) -> ScoreRule:
        """Return how names are ranked: by sums above ten parties, whose sets are too many."""
        return "sum" if parties > MAX_SETS_OF else self.score


@dataclass(frozen=True)
class WholeNameParameters(PanoramaParameters):
    """Where nobody reports a part of a text, how texts are cut is no setting."""

    text_share: float = 0.0
    text_chunks: int = 1


@dataclass(frozen=True)
class IdParameters(WholeNameParameters):
    """Where ids are counted as they are, nothing is hashed."""

    hash_key: str = DEFAULT_HASH_KEY
    expected_items: int = 0


@dataclass(frozen=True)
class CatalogueParameters(IdParameters):
    """A catalogue fixes the bits of its places and what is sent of it: neither is a setting here."""

    bits: int = SHORTEST
    upload_budget: int = 0


def chunk_weights(chunks: int) -> tuple[float, ...]:
    """Return how often each chunk is drawn: as often as the words of the public corpus need it.

    More chunks than words need are asked for where texts are long. These need every chunk alike.
    """
    if chunks > DEFAULT_CHUNKS:
        return (1 / chunks,) * chunks
    rare = (WORD_CHUNKS[-1] * 0.5**place for place in range(1, chunks))
    weights = [*WORD_CHUNKS, *rare][:chunks]
    return tuple(weight / sum(weights) for weight in weights)


@dataclass(frozen=True)
class PanoramaPlan:
    """Who reports what, and how far down names on no list are looked at."""

    weights: tuple[float, ...]
    """Of whole names, then of every chunk."""
    tau: float = 0.0
    """Standard deviations above the noise from which on a party names a name by itself."""
    asked: int = 0
    """Of these, the best that all parties count."""
    kept: int = 0
    """Of these, the best that go on: their texts are read, where there are any."""

    @property
    def chunks(self) -> int:
        """Return the chunks of a text that users report; 0 where nobody does."""
        return len(self.weights) - 1

    @classmethod
    def of(
        cls, parameters: PanoramaParameters, listed: int, *, signed: bool, discovers: bool, texts: bool
    ) -> "PanoramaPlan":
        """Spend on names that are on no list what everything else leaves of the budget."""
        rho, chunks = (parameters.rho, parameters.text_chunks) if texts else (0.0, 0)
        weights = (1 - rho, *(rho * weight for weight in chunk_weights(chunks)))
        if not discovers:
            return cls(weights)
        unary, budget = UNARY_BITS[signed], parameters.upload_budget or DEFAULT_BUDGET
        kept, row = parameters.k + SPARE, chunks * CHUNK_VALUES * UNARY_BITS[False]
        if texts:
            kept = max(1, min(MAX_READ, int(budget * SHARE_READ / row)))
        closing = (parameters.k + SPARE + kept) * COUNT_BITS
        left = budget - listed * unary - kept * row - closing
        asked = int(min(MAX_ASKED, max(left, 0.0) * SHARE_ASKED / unary))
        return cls(weights, tau_within(1 << parameters.bits, left - asked * unary), max(asked, kept), kept)

    def overlooks(self, bits: int, parties: int) -> bool:
        """Return whether a name that just stands out is more likely than not to be named by nobody.

        Such a name lies z standard deviations above the noise of all parties, z / sqrt(P) of each of P equal ones.
        """
        z = threshold(parties, 1 << bits)
        silent = NormalDist().cdf(self.tau - z / parties**0.5)
        return silent**parties > EVEN_CHANCE

    def expected_bits(self, parameters: PanoramaParameters, listed: int, *, signed: bool) -> int:
        """Return what a party will send: counts of the list, what is conspicuous, counts asked for, and chunks."""
        unary, closing = UNARY_BITS[signed], (parameters.k + SPARE + self.kept) * COUNT_BITS
        if not self.tau:
            return round(listed * unary) + closing
        chunks = self.kept * self.chunks * CHUNK_VALUES * UNARY_BITS[False]
        found = expected_bits(1 << parameters.bits, self.tau)
        return round((listed + self.asked) * unary + found + chunks) + closing
