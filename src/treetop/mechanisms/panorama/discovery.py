"""Codes that are on no list (steps 1 and 2): which of all 2^b a party sends, and which of them all parties count."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from math import e, erfc, exp, log, log2, pi, sqrt
from statistics import NormalDist

import numpy as np

from treetop.encoding.bit_strings import Codes, code_array
from treetop.encoding.text_code import CHUNK_VALUES
from treetop.errors import PeerViolation
from treetop.mechanisms.panorama.parameters import (
    DEFAULT_BUDGET,
    EVEN_CHANCE,
    LEAST_TAU,
    MAX_ASKED,
    MAX_READ,
    MAX_TAU,
    SHARE_ASKED,
    SHARE_READ,
    SPARE,
    STEP,
    PanoramaParameters,
    chunk_weights,
)
from treetop.oracles.frequency_oracle import Counts, Frequencies
from treetop.trie.quantised_counts import COUNT_BITS, UNARY_BITS, packed, plain, read_plain, read_unary, unary, unpacked
from treetop.trie.significance import threshold


def expected_bits(codes: int, tau: float) -> float:
    """Return the expected length of U where nobody holds any of the codes.

    A code lies above tau with the probability of a normal tail. Its gap to the one before is geometric, and its best
    code takes log2(e / share) bits, which a Rice code nearly does. Its steps above tau take one bit more than their
    mean, that of a truncated normal.
    """
    share = erfc(tau / sqrt(2)) / 2
    steps = (exp(-tau * tau / 2) / sqrt(2 * pi) / share - tau) / STEP
    return codes * share * (log2(e / share) + 1 + steps)


def tau_within(codes: int, bits: float) -> float:
    """Return the least tau at which U is expected to fit the bits, within LEAST_TAU and MAX_TAU."""
    low = LEAST_TAU
    high = MAX_TAU
    if expected_bits(codes, low) <= bits:
        return low
    while high - low > 1e-3:
        middle = (low + high) / 2
        if expected_bits(codes, middle) <= bits:
            high = middle
        else:
            low = middle
    return high


@dataclass(frozen=True)
class PanoramaPlan:
    """What is fixed before the first report, from public quantities: who reports what, and how long U, A and R are."""

    weights: tuple[float, ...]
    """1 - rho, rho v_1 .. rho v_m: of every kind of report."""
    tau: float = 0.0
    """Standard deviations above the noise from which on a party sends a code on no list."""
    asked: int = 0
    """|A| at most."""
    kept: int = 0
    """|R| at most."""

    @property
    def chunks(self) -> int:
        """Return m, the chunks of a text that users report; 0 where nobody does."""
        return len(self.weights) - 1

    @classmethod
    def of(
        cls, parameters: PanoramaParameters, listed: int, *, signed: bool, discovers: bool, texts: bool
    ) -> "PanoramaPlan":
        """Spend on codes on no list what everything else leaves of the upload budget.

        `listed` is the number of listed items, `signed` whether negative counts are sent.
        """
        rho = parameters.rho if texts else 0.0
        m = parameters.text_chunks if texts else 0
        weights = (1 - rho, *(rho * weight for weight in chunk_weights(m)))
        if not discovers:
            return cls(weights)
        count = UNARY_BITS[signed]
        chunk_counts = m * CHUNK_VALUES * UNARY_BITS[False]  # of one code
        budget = parameters.upload_budget or DEFAULT_BUDGET
        kept = parameters.k + SPARE
        if texts:
            kept = max(1, min(MAX_READ, int(budget * SHARE_READ / chunk_counts)))
        closing = (parameters.k + SPARE + kept) * COUNT_BITS
        left = budget - listed * count - kept * chunk_counts - closing
        asked = int(min(MAX_ASKED, max(left, 0.0) * SHARE_ASKED / count))
        tau = tau_within(1 << parameters.bits, left - asked * count)
        return cls(weights, tau, max(asked, kept), kept)

    def overlooks(self, bits: int, parties: int) -> bool:
        """Return whether a code that just stands out is more likely than not to be sent by nobody.

        Such a code lies z standard deviations above the noise of all parties, z / sqrt(P) of each of P equal ones.
        """
        z = threshold(parties, 1 << bits)
        silent = NormalDist().cdf(self.tau - z / parties**0.5)
        return silent**parties > EVEN_CHANCE

    def expected_bits(self, parameters: PanoramaParameters, listed: int, *, signed: bool) -> int:
        """Return the length of a party's uploads: counts of the list, U, counts of A, chunks of R, and whole counts."""
        count = UNARY_BITS[signed]
        closing = (parameters.k + SPARE + self.kept) * COUNT_BITS
        if not self.tau:
            return round(listed * count) + closing
        chunks = self.kept * self.chunks * CHUNK_VALUES * UNARY_BITS[False]
        conspicuous = expected_bits(1 << parameters.bits, self.tau)
        return round((listed + self.asked) * count + conspicuous + chunks) + closing


def rice_shift(space: int, codes: int) -> int:
    """Return about log2 of the median gap between the codes: these low bits of a gap are sent as they are."""
    return int(log2(max(log(2) * space / max(codes, 1), 1)))


@dataclass(frozen=True, eq=False)
class ConspicuousCodes:
    """U of a party: the codes that lie tau or more standard deviations above its noise, and how far above tau.

    Ascending codes are sent as their gaps in a Rice code, the steps above tau in unary.
    """

    codes: Codes
    steps: Counts
    space: int
    """2^b."""

    @classmethod
    def of(cls, codes: Codes, scores: Frequencies, tau: float, space: int) -> "ConspicuousCodes":
        """Run by a party: round how far codes lie above tau."""
        return cls(codes, np.rint((scores - tau) / STEP).astype(np.int64).clip(0), space)

    @classmethod
    def none(cls, bits: int) -> "ConspicuousCodes":
        """Return no codes."""
        return cls(code_array([], bits), np.empty(0, dtype=np.int64), 1 << bits)

    @property
    def shift(self) -> int:
        """Return the low bits of a gap that are sent as they are."""
        return rice_shift(self.space, len(self.codes))

    @cached_property
    def _gaps(self) -> Counts:
        """Return how many codes lie between each and the one before."""
        codes: Counts = np.append(-1, self.codes.astype(np.int64))
        return codes[1:] - codes[:-1] - 1

    @cached_property
    def bits(self) -> int:
        """Return the real length: quotients and steps in unary, low bits, and how many there are."""
        ones = int((self._gaps >> self.shift).sum() + self.steps.sum())
        return COUNT_BITS + ones + len(self.codes) * (self.shift + 2)

    def to_bytes(self) -> bytes:
        """Return all of it as `bits` counts it, but for how many there are."""
        low = self._gaps & ((1 << self.shift) - 1)
        return packed(unary(self._gaps >> self.shift), unary(self.steps), plain(low, self.shift))

    @classmethod
    def from_bytes(cls, data: bytes, number: int, bits: int) -> "ConspicuousCodes":
        """Run by the server: read this number of codes of b bits, written as they are written here, or refuse."""
        shift = rice_shift(1 << bits, number)
        quotients, rest = read_unary(unpacked(data), number)
        steps, rest = read_unary(rest, number)
        low, _ = read_plain(rest, number, shift)
        if len(quotients) == len(steps) == len(low) == number:
            codes = ((quotients << shift | low) + 1).cumsum() - 1
            found = cls(codes.astype(np.uint64), steps, 1 << bits)
            if (not number or codes[-1] < found.space) and found.to_bytes() == data:
                return found
        raise PeerViolation("packed names", f"{number} as Treetop writes them", f"{len(data)} other bytes")


def most_conspicuous(
    sent: Mapping[str, ConspicuousCodes], deviations: Mapping[str, float], tau: float, zeta: float, number: int
) -> Codes:
    """Run by the server: A, the codes that the parties who sent them lift highest together, ascending.

    A party that did not send a code is taken to count nothing: the score is the lower bound over those that did.
    """
    codes = np.concatenate([each.codes for each in sent.values()])
    counts = np.concatenate([(tau + STEP * each.steps) * deviations[party] for party, each in sent.items()])
    variances = np.concatenate([np.full(len(each.codes), deviations[party] ** 2) for party, each in sent.items()])
    order = codes.argsort(kind="stable")  # merges the parties' ascending codes, faster than `np.unique`
    codes = codes[order]
    is_new = np.append(True, codes[1:] != codes[:-1])[: len(codes)]
    index = is_new.cumsum() - 1
    codes = codes[is_new]
    sums = np.bincount(index, counts[order], len(codes))
    scores = sums - zeta * np.sqrt(np.bincount(index, variances[order], len(codes)))
    return codes if len(codes) <= number else np.sort(codes[np.argpartition(-scores, number)[:number]])
