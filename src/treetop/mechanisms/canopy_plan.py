"""What Canopy chooses before the first report, from public quantities only: m, k, epsilon and the options."""

from dataclasses import dataclass
from statistics import NormalDist

from treetop.encoding.bit_strings import Codes
from treetop.encoding.levels import level_lengths
from treetop.errors import InvalidInput
from treetop.mechanisms.parameters import Parameters
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.global_ranking import COUNT_BITS
from treetop.trie.quantised_counts import UNARY_BITS

LEAST_KEPT = 30


@dataclass(frozen=True)
class CanopyPlan:
    """The levels of the trie, t and zeta."""

    lengths: tuple[int, ...]
    """l_0 .. l_L."""
    step_bits: int
    """b, the bits of a level at most."""
    kept: int
    """t, the prefixes kept at a level at most."""
    signed: bool
    """Whether negative counts are sent, too: plain sums need them."""

    @classmethod
    def of(cls, parameters: Parameters) -> "CanopyPlan":
        """Take the largest b up to `step_bits` whose expected upload fits the budget."""
        plans = [cls.stepping(parameters, b) for b in range(parameters.step_bits, 0, -1)]
        budget = parameters.upload_budget
        fitting = [plan for plan in plans if not budget or plan.expected_bits(parameters.k) <= budget]
        if not fitting:
            least = min(plan.expected_bits(parameters.k) for plan in plans)
            raise InvalidInput(
                f"upload_budget must be at least {least:,} bits for k = {parameters.k}, found {budget:,}"
            )
        return fitting[0]

    @classmethod
    def stepping(cls, parameters: Parameters, step_bits: int) -> "CanopyPlan":
        """Divide m bits evenly over L = ceil(m / b) levels; t = max(2k, 30) unless told otherwise."""
        levels = -(-parameters.bits // step_bits)
        kept = max(parameters.kept or max(2 * parameters.k, LEAST_KEPT), parameters.least_kept)
        return cls(level_lengths(parameters.bits, levels), step_bits, kept, parameters.score == "sum")

    @property
    def L(self) -> int:  # noqa: N802  the symbol of the page
        """Return the number of levels."""
        return len(self.lengths) - 1

    @property
    def zeta(self) -> float:
        """Return Phi^-1(1 - 2^-b): as far as noise alone fills the kept list, with 2^b children per kept prefix."""
        return NormalDist().inv_cdf(1 - 2.0**-self.step_bits)

    def candidates(self, A: Codes, h: int) -> CandidateDomain:
        """Return Lambda at level h: every prefix of A followed by every string of the level's bits."""
        return CandidateDomain.extending(A, self.lengths[h - 1], self.lengths[h])

    @property
    def most_candidates(self) -> tuple[int, ...]:
        """Return |Lambda| at every level, at most."""
        sizes = [1]
        for shorter, longer in zip(self.lengths[:-1], self.lengths[1:], strict=True):
            sizes.append(min(self.kept, sizes[-1]) << (longer - shorter))
        return tuple(sizes[1:])

    def expected_bits(self, k: int) -> int:
        """Return what a party will send: unary counts and s_i of every level, and k counts in the closing round."""
        counts = UNARY_BITS[self.signed] * sum(self.most_candidates)
        return round(counts) + COUNT_BITS * (self.L + k)


def canopy_levels(parameters: Parameters) -> int:
    """Return L."""
    return CanopyPlan.of(parameters).L


def canopy_lengths(parameters: Parameters) -> tuple[int, ...]:
    """Return l_0 .. l_L."""
    return CanopyPlan.of(parameters).lengths


def canopy_most_kept(parameters: Parameters) -> int:
    """Return t."""
    return CanopyPlan.of(parameters).kept


def canopy_choices(parameters: Parameters) -> tuple[str, ...]:
    """Say what was chosen and why, for the reader of an answer."""
    plan = CanopyPlan.of(parameters)
    widest = max(plan.most_candidates)
    return (
        f"{plan.L} levels of at most {plan.step_bits} bits: {_step_reason(parameters, plan)}",
        f"{plan.kept} prefixes kept per level ({_kept_reason(parameters)}), so at most {widest:,} candidates",
        f"oracle {parameters.oracle_for(widest).name} there: {_oracle_reason(parameters, widest)}",
        f"users per level: {_WEIGHTS[parameters.weights]}",
        f"about {plan.expected_bits(parameters.k) / 1000:,.0f} kbit up per party expected",
    )


_WEIGHTS = {
    "adaptive": "more where kept prefixes leave many uncovered, most at the last",
    "ramp": "public weights that grow with the level",
    "equal": "the same public weight for every level, twice that for the last",
}


def _step_reason(parameters: Parameters, plan: CanopyPlan) -> str:
    if plan.step_bits < parameters.step_bits:
        return f"the most that an upload of {parameters.upload_budget:,} bits allows"
    return f"{parameters.bits} bits name an item"


def _kept_reason(parameters: Parameters) -> str:
    return "as told" if parameters.kept else f"max(2k, {LEAST_KEPT})"


def _oracle_reason(parameters: Parameters, widest: int) -> str:
    if parameters.oracle != "auto":
        return "as told"
    side = "fewer" if parameters.oracle_for(widest).name == "krr" else "not fewer"
    return f"{widest + 1:,} slots are {side} than 3e^ε + 2 = {3 * parameters.epsilon.odds + 2:.4g}"
