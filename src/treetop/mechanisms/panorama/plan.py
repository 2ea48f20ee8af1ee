"""What Panorama chooses before the first report, from public quantities only."""

from dataclasses import dataclass, replace
from functools import cache
from statistics import NormalDist

from treetop.encoding.text_code import CHUNK_VALUES, DEFAULT_CHUNKS
from treetop.mechanisms.panorama.discovery import expected_bits, tau_within
from treetop.mechanisms.parameters import number, setting, whole_number
from treetop.mechanisms.summed_level import SummedParameters
from treetop.trie.global_ranking import COUNT_BITS
from treetop.trie.party_counts import UNARY_BITS

ZETA = NormalDist().inv_cdf(1 - 2.0**-8)
DEFAULT_BUDGET = 1_500_000
ASKED = 1 << 14
"""Names on no list whose counts all parties send."""
READ = 30
"""The best of these, whose texts are read."""
WORD_CHUNKS = (0.29, 0.29, 0.23, 0.11, 0.04)


@dataclass(frozen=True)
class PanoramaParameters(SummedParameters):
    """How many bits a name has, what a party may send, and who reports a part of a text."""

    bits: int = setting(24, "b", "Panorama: bits of a name.", whole_number(4, 28))
    upload_budget: int = setting(
        0, "", "Panorama: bits a party may expect to send; fewer names on no list are looked at. 0: 1,500,000.",
        whole_number(0, 1 << 40),
    )  # fmt: skip
    text_share: float = setting(
        0.3, "rho", "Panorama: share of users who report a part of their text; 0.45 suits long texts.",
        number("a number above 0 and below 1", lambda share: 0 < share < 1),
    )  # fmt: skip
    text_chunks: int = setting(
        DEFAULT_CHUNKS, "", "Panorama: parts of 8 bits that a text's code is cut into.", whole_number(1, 64)
    )


def chunk_weights(chunks: int) -> tuple[float, ...]:
    """Return how often each chunk is drawn: as often as the words of the public corpus need it."""
    rest = [0.04 * 0.5 ** (j + 1) for j in range(max(0, chunks - len(WORD_CHUNKS)))]
    weights = [*WORD_CHUNKS, *rest][:chunks]
    return tuple(weight / sum(weights) for weight in weights)


@dataclass(frozen=True)
class PanoramaPlan:
    """Weights of the kinds of reports, and how far down names on no list are looked at."""

    weights: tuple[float, ...]
    tau: float
    asked: int

    @property
    def chunks(self) -> int:
        """Return the chunks of a text that users report."""
        return len(self.weights) - 1

    @classmethod
    def of(cls, parameters: PanoramaParameters, listed: int, *, discovers: bool, texts: bool) -> "PanoramaPlan":
        """Spend on names that are on no list what the others leave of the budget."""
        rho = parameters.text_share if texts else 0.0
        chunks = parameters.text_chunks if texts else 0
        weights = (1 - rho, *(rho * weight for weight in chunk_weights(chunks)))
        if not discovers:
            return cls(weights, float("inf"), 0)
        unary = UNARY_BITS[parameters.score == "sum"]
        budget = parameters.upload_budget or DEFAULT_BUDGET
        fixed = listed * unary + (READ * chunks * CHUNK_VALUES * unary) + 3 * parameters.k * COUNT_BITS
        asked = int(min(ASKED, max(budget - fixed, 0) / 4 / unary))
        tau = tau_within(1 << parameters.bits, budget - fixed - asked * unary)
        return cls(weights, tau, asked)
