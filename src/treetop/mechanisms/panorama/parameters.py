"""The parameters of Panorama, and its constants: each with its derivation, or with what chose it.

docs/explanation/panorama.md prints the constants of this module as a table. Where nothing derives a value, it is stated
that the value was chosen, and by what.
"""

from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

from treetop.encoding.bit_strings import SHORTEST
from treetop.encoding.item_codecs import DEFAULT_HASH_KEY
from treetop.encoding.text_code import DEFAULT_CHUNKS, MAX_CHUNKS
from treetop.mechanisms.parameters import code_bits, number, setting, whole_number
from treetop.mechanisms.summed_level import SummedParameters, upload_budget
from treetop.trie.lower_confidence import ScoreRule
from treetop.trie.significance import MAX_SETS_OF

CODE_BITS = 24
"""b. Each bit more doubles the codes that noise lifts, and the counter's memory (67 MB at 24 bits); each bit fewer
doubles the items that share a code, 0.6 % of 10^5 at 24 bits. Chosen between the two, not derived."""
MAX_CODE_BITS = 26
"""b above `MAX_ITEMS_OF_SHORT_CODES`, and the most that is counted: 268 MB for the transform."""
MAX_ITEMS_OF_SHORT_CODES = 100_000
"""Different items up to which 24 bits do: 1 - exp(-10^5 / 2^24) = 0.6 % of them share their code with another."""
DEFAULT_BUDGET = 1_500_000
"""Bits that a party may upload. Chosen: it pays for the chunks of 90 codes (0.5 Mbit) and a tau of 2.55 (0.96 Mbit). In
the design study, which no benchmark repeats, a tau of 3.04 lost .03 of F1 against 2.5 with 32 to 48 small, similar
parties, 3.42 lost .08 to .10, and neither lost anything with 2 to 6 parties."""
ZETA = NormalDist().inv_cdf(1 - 2.0**-8)
"""zeta. Canopy derives it for 2^8 children of a kept prefix: noise lifts about one of them above it. Taken over for
codes of any length, not derived for them."""
SPARE = 30
"""Codes beyond k in the closing round, of the list and of the others each: room for ranks that exact counts change.
Chosen, not derived."""
MAX_ASKED = 1 << 14
"""The most codes on no list that all parties count: 29 kbit of an upload. Chosen, not derived."""
SHARE_ASKED = 0.25
"""The most of the budget left for codes on no list that these counts may take; it binds below 0.12 Mbit left. Chosen,
not derived."""
MAX_READ = 90
"""The most codes whose text is searched for. Noise lifts 90 of 2^24 codes above 4.4 standard deviations; each code more
costs 12 * 256 * 1.8 = 5.5 kbit of an upload and a search of 4 ms."""
SHARE_READ = 0.6
"""The most of the budget that their chunks may take: with 64 chunks of long texts it leaves 30 codes. Chosen, not
derived."""
FAR_BELOW = 2.5
"""Standard deviations of a sum over reports of kind 0 below the k-th sure code at which a text is not searched for. The
reports of chunks move two codes against each other by sqrt(2 rho) = 0.77 of these, so 3.2 times that much would be
needed (probability 0.0006). The 2.5 was chosen, the 0.77 is derived."""
WORD_SHARE = 0.3
"""rho where texts are words. Chosen, not derived, and no sweep over rho is recorded: with it F1 over a list reaches the
limit (table below)."""
LONG_TEXT_SHARE = 0.45
"""rho where more chunks are asked for than words need, and each has fewer reports. Chosen, not derived: in the design
study, which no benchmark repeats, F1 over generated URLs was .91 at epsilon 2 and .97 at epsilon 4."""
WORD_CHUNKS = (0.29, 0.29, 0.23, 0.11, 0.04)
"""v_j, the weights of the first chunks: how often the words of our own corpus need each chunk of their code. Measured
(tests/unit/mechanisms/test_panorama.py); each later chunk is drawn half as often as the one before it."""
STEP = 0.5
"""Standard deviations of one step of a count that is sent: rounding adds STEP^2 / 12 = 1/48 to a variance of 1."""
LEAST_TAU = 2.0
"""The least tau: noise lifts 2.3 % of all codes above it, which take 3.3 Mbit at 24 bits. Chosen, not derived."""
MAX_TAU = 8.0
"""The greatest tau: noise lifts no code above it (10^-8 expected at 24 bits)."""
EVEN_CHANCE = 0.5
"""Probability that no party sends a code that just stands out, above which a trie is taken instead of Panorama."""


def code_bits_for(expected_items: int) -> int:
    """Return b: 24 bits up to about 10^5 different items, 26 above."""
    return CODE_BITS if expected_items <= MAX_ITEMS_OF_SHORT_CODES else MAX_CODE_BITS


@dataclass(frozen=True)
class PanoramaParameters(SummedParameters):
    """What a party may send, and who reports a part of a text; `bits` are those of a code."""

    tiny: ClassVar = {"bits": 8, "text_chunks": 1}

    bits: int = code_bits(CODE_BITS)
    upload_budget: int = upload_budget()
    text_share: float = setting(
        0.0,
        "",
        f"Hashed names: share of users who report a part of their text. 0: {WORD_SHARE}, or {LONG_TEXT_SHARE} with "
        f"more than {DEFAULT_CHUNKS} chunks.",
        number("a number from 0 to below 1", lambda share: 0 <= share < 1),
    )
    text_chunks: int = setting(
        DEFAULT_CHUNKS, "", "Hashed names: parts of 8 bits that a text's code is cut into.", whole_number(1, MAX_CHUNKS)
    )
    expected_items: int = setting(
        0,
        "",
        "Hashed names: different items expected; more than 100,000 take 26 bits, fewer 24. 0: not known.",
        whole_number(0, 1 << 40),
    )

    @property
    def rho(self) -> float:
        """Return the share of users who report a chunk: as set, or by the number of chunks."""
        return self.text_share or (LONG_TEXT_SHARE if self.text_chunks > DEFAULT_CHUNKS else WORD_SHARE)

    def rule(self, parties: int) -> ScoreRule:
        """Return how codes are ranked: by sums above ten parties, whose sets are too many."""
        return "sum" if parties > MAX_SETS_OF else self.score


@dataclass(frozen=True)
class WholeCodeParameters(PanoramaParameters):
    """Where nobody reports a part of a text, how texts are cut is no setting."""

    text_share: float = 0.0
    text_chunks: int = 1


@dataclass(frozen=True)
class IdParameters(WholeCodeParameters):
    """Where ids are counted as they are, nothing is hashed."""

    hash_key: str = DEFAULT_HASH_KEY
    expected_items: int = 0


@dataclass(frozen=True)
class CatalogueParameters(IdParameters):
    """A catalogue fixes the bits of its indices and what is sent of it: neither is a setting here."""

    bits: int = SHORTEST
    upload_budget: int = 0


def chunk_weights(chunks: int) -> tuple[float, ...]:
    """Return v_1 .. v_m: how often each chunk is drawn, as often as the words of our own corpus need it.

    More chunks than words need are asked for where texts are long. These need every chunk alike.
    """
    if chunks > DEFAULT_CHUNKS:
        return (1 / chunks,) * chunks
    rare = (WORD_CHUNKS[-1] * 0.5**later for later in range(1, chunks))
    weights = [*WORD_CHUNKS, *rare][:chunks]
    return tuple(weight / sum(weights) for weight in weights)
