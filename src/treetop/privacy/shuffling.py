"""What shuffling adds: n reports of an epsilon-LDP group, shuffled, are (central epsilon, delta)-DP.

The general bound of Feldman, McMillan and Talwar ("Hiding Among the Clones", 2021, Theorem 3.1), for any reports that
are epsilon-LDP. Every other report stands for one of our user's two values with probability e^-epsilon, so that

    C ~ Bin(n - 1, e^-epsilon),  A ~ Bin(C, 1/2),  D ~ Bern(p),  p = e^epsilon / (e^epsilon + 1),  q = 1 - p,
    P = (A + D, C - A + 1 - D),  Q = (A + 1 - D, C - A + D),  delta(central epsilon) <= H_c(P || Q),  c = e^central,

where H_c(P || Q) is the sum of max(0, P - c Q). Given C = m, the ratio P / Q rises with the first number a, hence

    H_m = (p - c q) Pr[Bin(m, 1/2) = t - 1] - (c - 1) Pr[Bin(m, 1/2) >= t],  t the first a with P > c Q.

Nothing here is rounded in our favour. Probabilities are products, quotients and sums of positive numbers, at most a few
for each of J indices, so each is within a factor 1 +- 4 J 2^-53 of the exact one: what is added is multiplied by that
factor and what is subtracted divided by it. e^epsilon is rounded up, e^central down. H_m falls in m (one more clone is
post-processing), so a stretch of values of C counts as its first; delta falls in n, so fewer reports may be assumed.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction
from functools import lru_cache
from math import ceil, exp, isqrt, log

import numpy as np
from numpy.typing import NDArray

from treetop.errors import InvalidInput, UnknownName
from treetop.privacy.epsilon import LARGEST, Epsilon
from treetop.wording import Note

MAX_REPORTS = 10**8
"""More reports are treated as this number: its guarantee is good enough, and tables stay small."""
CELLS = 1 << 17
"""Of a table with a row for each stretch of values of C: one megabyte of doubles."""
MIN_ROWS = 32
"""Stretches of values of C that are told apart, however long the rows are."""
CUT_OFF = 2.0**-100
"""More than all that the tables leave out: they go 13 standard deviations far, where Hoeffding's bound is e^-92."""
UP = 1 + 2.0**-50
"""Four times the spacing of doubles at 1: more than `exp` and a product are rounded by."""
DOWN = 1 - 2.0**-50
"""The same, for numbers that must not be too large."""
STEPS = 450
"""Of a curve: they lead down to e^-9 of the local epsilon."""
STEP = 0.02
"""A curve has a point for every 2 % of central epsilon; between them delta is convex."""
KEPT_BITS = 7
"""Of the reports of a group, when curves are shared: fewer by 1 in 64 at most."""
DIGITS = 3
"""Of a central epsilon, rounded up."""
FAKES = 2
"""One in this number of reports counts: the others may be fakes, which hide nobody."""
MIN_GAIN = 0.9
"""Of the local epsilon: above it shuffling gains less than 10 %, and the local one alone is stated."""
DEFAULT_DELTA = 1e-8
"""Where a central epsilon was asked for without a delta."""
TRUSTED = "party"
"""Who may be trusted to keep reports apart from tickets, order and times."""
Numbers = NDArray[np.float64]


class Clones:
    """The reports of one group: how well they hide one of them."""

    def __init__(self, reports: int, epsilon: float) -> None:
        if reports < 1:
            raise InvalidInput("crowd_empty", reports=reports)
        self._epsilon = epsilon
        self._odds = exp(epsilon) * UP
        self._m, self._chances, self._below = _numbers_of_clones(min(reports, MAX_REPORTS) - 1, self._odds)
        self._first = (self._m + 1) // 2
        w = _halves(self._m)
        halves = w.sum(axis=1)
        total = np.where(self._m % 2, 2 * halves, 2 * halves - 1)[:, None]
        self._off = (4 * w.shape[1] + 64) * 2.0**-53
        self._equal = np.pad(w / total, ((0, 0), (0, 2)))
        """Pr[Bin(m, 1/2) = a] for a from ceil(m / 2)."""
        self._least = np.cumsum(self._equal[:, ::-1], axis=1)[:, ::-1]
        """Pr[Bin(m, 1/2) >= a]."""

    def delta(self, central: Numbers | Sequence[float] | float) -> Numbers:
        """Return an upper bound of delta for each central epsilon above 0."""
        central = np.atleast_1d(np.asarray(central, dtype=np.float64))
        odds = self._odds
        c = np.exp(central) * DOWN
        more = np.expm1(central) * DOWN
        # P > c Q where a / (m + 1) is above this; a neighbour of t gives no more than t, so all three may be tried.
        above = (c - 1 / odds) / ((1 + c) * (1 - 1 / odds))
        t = np.floor(above * (self._m[:, None] + 1)).astype(np.int64) + 1
        rows = np.arange(len(self._m))[:, None]
        last = self._equal.shape[1] - 1
        gained = np.maximum(odds - c, 0) / (odds + 1) * (1 + self._off)
        lost = more * (1 - self._off)
        H = np.zeros(t.shape)
        for tried in (t - 1, t, t + 1):
            index = np.clip(tried - self._first[:, None], 1, last)
            H = np.maximum(H, gained * self._equal[rows, index - 1] - lost * self._least[rows, index])
        bound = (self._chances @ H + self._below) * (1 + self._off) + CUT_OFF
        return np.where(central >= self._epsilon, 0.0, np.minimum(bound, 1.0))


def _numbers_of_clones(others: int, odds: float) -> tuple[NDArray[np.int64], Numbers, float]:
    """Return values m_1 < m_2 < .. of C, upper bounds of Pr[m_i <= C < m_(i+1)], and one of Pr[C < m_1]."""
    rarity = (odds - 1) * UP  # 1 / e^-epsilon - 1, rounded up: fewer clones
    mean = others / odds
    mode = min(int((others + 1) / (1 + rarity)), others)
    # 14 standard deviations, as the variance of C is below its mean, and more where C is small. The chances are
    # products of ratios from the mode outwards: no factorial, and no power that underflows.
    reach = ceil(14 * mean**0.5) + 40
    low, high = max(0, mode - reach), min(others, mode + reach)
    ups = np.arange(mode, high, dtype=np.float64)
    downs = np.arange(mode, low, -1, dtype=np.float64)
    right = np.cumprod((others - ups) / ((ups + 1) * rarity))
    left = np.cumprod(downs * rarity / (others - downs + 1))
    weights = np.concatenate([left[::-1], [1.0], right])
    off = 1 + (4 * len(weights) + 64) * 2.0**-53
    shares = weights * (off / weights.sum())
    below = 0.0
    above = 0.0
    if low:  # each value below is rarer than the next by this factor at least, and the like above
        ratio = low * rarity / (others - low + 1) * off
        below = float(shares[0]) * ratio / (1 - ratio)
    if high < others:
        ratio = (others - high) / ((high + 1) * rarity) * off
        above = float(shares[-1]) * ratio / (1 - ratio)
    rows = max(MIN_ROWS, CELLS // _length(high))
    starts = np.arange(0, len(shares), -(-len(shares) // rows))
    chances = np.add.reduceat(shares, starts)
    chances[-1] += above
    return low + starts, chances, below


def _length(m: int) -> int:
    """Return how many values of Bin(m, 1/2) from the middle on are looked at: 13 standard deviations, or all."""
    return min(m // 2, 7 * (isqrt(m) + 1)) + 1


def _halves(m: NDArray[np.int64]) -> Numbers:
    """Return, for each m, the probabilities of Bin(m, 1/2) from ceil(m / 2) on as multiples of the first."""
    first = ((m + 1) // 2)[:, None].astype(np.float64)
    steps = np.arange(_length(int(m[-1])) - 1, dtype=np.float64)
    ratios = np.maximum(m[:, None] - first - steps, 0.0) / (first + 1 + steps)
    return np.concatenate([np.ones((len(m), 1)), np.cumprod(ratios, axis=1)], axis=1)


@dataclass(frozen=True)
class CentralGuarantee:
    """What is promised, or asked for, against those who see a party's counts only, if the party is honest."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        if not 0 < self.epsilon <= LARGEST:
            raise InvalidInput("central_epsilon_range", largest=LARGEST, epsilon=self.epsilon)
        if not 0 < self.delta < 1:
            raise InvalidInput("delta_range", delta=self.delta)

    def __str__(self) -> str:
        delta = f"{self.delta:g}".replace("e-0", "e-")
        return f"({self.epsilon:g}, {delta})-DP"

    def shortfall(self, wanted: "CentralGuarantee | None") -> list[Note]:
        """Note that less is promised than was asked for."""
        if wanted is None or self.epsilon <= wanted.epsilon:
            return []
        return [Note("central_shortfall", promised=str(self), wanted=str(wanted))]

    def beside(self, local: Epsilon) -> str:
        """Say in one line what is promised to whom; also where shuffling adds less than a tenth."""
        central = f"{self} if the party is honest"
        if self.epsilon > MIN_GAIN * local:
            central = f"{local:g}-LDP as well, since its groups are too small to gain 10 % by shuffling"
        return f"towards the server and readers: {central}; towards the party: {local:g}-LDP"


def central_guarantee(groups: Iterable[int], epsilon: Epsilon, delta: float) -> CentralGuarantee:
    """Return the guarantee of a party whose counted groups have these numbers of reports, half assumed to be fakes.

    It is that of the smallest group. Weighting the groups by a user's chance to be in them would give less, but in
    rounds the server picks the beacon that settles who is in which group, so that chance is not a chance.
    """
    smallest = min((reports for reports in groups if reports), default=0)
    deltas = np.zeros(STEPS + 1)  # where no group was counted, nothing was published
    if smallest:
        deltas = _curve(_shortened(max(smallest // FAKES, 1)), float(epsilon)) * UP
    good = int(np.argmax(deltas <= delta))  # the last point is the local epsilon itself, with delta 0
    c = np.exp(_points(epsilon)[max(good - 1, 0) : good + 1])
    if good:  # H_c is convex in c: a straight line between two points lies above it
        part = (deltas[good - 1] - delta) / (deltas[good - 1] - deltas[good])
        c[-1] = c[0] + part * (c[1] - c[0])
    found = Decimal(log(float(c[-1]) * UP))
    digits = Decimal(1).scaleb(found.adjusted() - DIGITS + 1)
    return CentralGuarantee(min(float(found.quantize(digits, ROUND_CEILING)), float(epsilon)), delta)


def local_epsilon(central_at: Callable[[Epsilon], float], wanted: CentralGuarantee, cap: Fraction) -> Epsilon:
    """Return the largest epsilon in hundredths that keeps a guarantee; one above the cap is refused.

    `central_at` returns the central epsilon of devices that report with an epsilon.
    """
    most = int(cap * 100)
    if central_at(_hundredths(most + 1)) <= wanted.epsilon:
        allowed = _hundredths(most)
        raise InvalidInput(
            "central_epsilon_too_large", allowed=allowed, epsilon=wanted.epsilon, central=central_at(allowed)
        )
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if central_at(_hundredths(middle)) <= wanted.epsilon else (low, middle)
    if not low:
        raise InvalidInput("central_epsilon_too_small", epsilon=wanted.epsilon)
    return _hundredths(low)


def epsilon_choice(epsilon: Epsilon, wanted: CentralGuarantee, users: int) -> Note:
    """Return why devices report with an epsilon that nobody asked for."""
    return Note("epsilon_from_central", epsilon=float(epsilon), wanted=str(wanted), users=users)


def _hundredths(number: int) -> Epsilon:
    return Epsilon(f"{number // 100}.{number % 100:02}".rstrip("0").rstrip("."))


def asked_guarantee(
    trust: str | None, central_epsilon: float | None, delta: float | None, epsilon: object
) -> CentralGuarantee | None:
    """Return the guarantee that somebody asks for who trusts parties, or None; refuse half of a wish."""
    if trust is not None and trust != TRUSTED:
        raise UnknownName("trust", trust, (TRUSTED,))
    if trust is None and central_epsilon is None and delta is None:
        return None
    if trust is None or central_epsilon is None:
        raise InvalidInput("central_incomplete", trusted=TRUSTED)
    if epsilon is not None:
        raise InvalidInput("central_with_epsilon", epsilon=epsilon)
    return CentralGuarantee(central_epsilon, DEFAULT_DELTA if delta is None else delta)


def refuse_large_delta(delta: float, users: int) -> None:
    """Refuse a delta with which publishing somebody's item would be within the promise."""
    if delta > 1 / users:
        raise InvalidInput("delta_too_large", largest=1 / users, users=users, delta=delta)


def usual_delta(users: int) -> float:
    """Return the delta of an answer for which none was asked: 1e-8, or the power of ten that is below 1 / (10 N)."""
    return 10.0 ** -max(8, len(str(users)))


def _points(epsilon: float) -> Numbers:
    """Return the central epsilons of a curve, ascending; the last is the local one."""
    return epsilon * np.exp(-STEP * np.arange(STEPS, -1, -1.0))


@lru_cache(maxsize=4096)
def _curve(reports: int, epsilon: float) -> Numbers:
    """Return delta at every point, falling."""
    return np.minimum.accumulate(Clones(reports, epsilon).delta(_points(epsilon)))


def _shortened(reports: int) -> int:
    """Return the number with its first bits alone, so that groups of nearly the same size share a curve."""
    cut = max(reports.bit_length() - KEPT_BITS, 0)
    return reports >> cut << cut
