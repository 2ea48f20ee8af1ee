"""How far an answer can be trusted: against the truth (F1, NCR, local recall), against noise, against fake devices."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil

from treetop.errors import InvalidInput
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import oracle_named, set_oracle
from treetop.oracles.set_reports import SetQuestion
from treetop.privacy.epsilon import Epsilon
from treetop.wording import Note

CLEAR = 3.0
"""Standard errors of a clear item; one of fewer is hard to tell from the best that noise alone would show."""
STEP = 0.25
"""Between the epsilons that advice names."""


def f1(found: Sequence[int], truth: Sequence[int]) -> float:
    """Return the harmonic mean of precision |found & truth| / |found| and recall |found & truth| / |truth|."""
    hits = len(set(found) & set(truth))
    return 2 * hits / (len(found) + len(truth))


def ncr(found: Sequence[int], truth: Sequence[int]) -> float:
    """Return the normalized cumulative rank: the best of k true items scores k, the k-th scores 1."""
    k = len(truth)
    quality = {item: k - rank for rank, item in enumerate(truth)}
    return sum(quality.get(item, 0) for item in set(found)) / (k * (k + 1) / 2)


def local_recall(found_by_party: Iterable[Sequence[int]], truth: Sequence[int]) -> float:
    """Return the share of the global top k inside a party's local top k, averaged over parties."""
    shares = [len(set(found[: len(truth)]) & set(truth)) / len(truth) for found in found_by_party]
    return sum(shares) / len(shares)


@dataclass(frozen=True)
class LastLevel:
    """All that the noise of a party's last level depends on."""

    users: int
    reports: int
    domain: int


@dataclass(frozen=True)
class Advice:
    """How many times the users, or which epsilon, would make an item clear."""

    users_factor: float | None
    """None where nobody holds the item: noise invented it, and nothing would show it."""
    epsilon: float | None
    """None where no epsilon that devices accept is enough."""
    clear: float = CLEAR
    """Standard errors that make it clear."""


def advice(
    count: float,
    stderr: float,
    levels: Sequence[LastLevel],
    oracle: str | Oracle,
    epsilon: Epsilon,
    *,
    true_count: float,
    largest: float,
    clear: float = CLEAR,
) -> Advice | None:
    """Return what would make an item of that true count clear, or None where its estimate is clear already.

    Frequencies stay as they are when users are added, so standard errors shrink with the square root of the users. No
    epsilon above the `largest` is named: devices would refuse it.
    """
    if count >= clear * stderr:
        return None
    if true_count <= 0:
        return Advice(None, None, clear)
    factor = max((clear * stderr / true_count) ** 2, 1.0)
    return Advice(factor, _epsilon_for(factor, levels, oracle, epsilon, largest), clear)


def _epsilon_for(
    factor: float, levels: Sequence[LastLevel], oracle: str | Oracle, epsilon: Epsilon, largest: float
) -> float | None:
    """Return the smallest larger epsilon, in steps, whose noise is that many times smaller in variance."""
    # Variance falls with the number of users as 1 / n, so a factor of users and one of variance do the same.
    wanted = _noise(levels, oracle, epsilon) / factor
    tried = epsilon + STEP - epsilon % STEP
    while tried <= largest:
        if _noise(levels, oracle, Epsilon(tried)) <= wanted:
            return tried
        tried += STEP
    return None


def _noise(levels: Sequence[LastLevel], oracle: str | Oracle, epsilon: Epsilon) -> float:
    """Return the variance of the summed count of an item that nobody holds."""
    oracles = [oracle_named(oracle, epsilon, level.domain - 1) for level in levels]
    return sum(
        float(level.users**2 * known.variance(0.0, level.reports)) for level, known in zip(levels, oracles, strict=True)
    )


def fake_weight(p: float, q: float) -> float:
    """Return the number of honest holders that a report crafted for an item weighs: (1 - q) / (p - q)."""
    if not 0 <= q < p <= 1:
        raise InvalidInput("probabilities_invalid", p=p, q=q)
    return (1 - q) / (p - q)


def fakes_needed(count_of_kth: float, p: float, q: float) -> int:
    """Return the number of crafted reports, spread over all levels, that give an item nobody holds the k-th count.

    A crafted report supports its item for certain, where an honest one of another item does so with q; in the estimate
    (c / n - q) / (p - q) it therefore weighs (1 - q) / (p - q) honest users. Hence c_k (p - q) / (1 - q): about
    c_k (p - q) where q is small. Fakes that only hold the item and follow the protocol must be c_k themselves.
    """
    return max(1, ceil(max(count_of_kth, 0.0) / fake_weight(p, q)))


def choices_of_sets(asked: SetQuestion, oracle: str, epsilon: Epsilon) -> tuple[Note, ...]:
    """Return notes on what the counts mean, and on how much one fake user could add to them."""
    choices = [Note("set_counts", items_per_user=asked.items_per_user, reading=asked.reading)]
    if asked.items_per_user > 1:
        many = set_oracle(oracle, epsilon, asked.items_per_user)
        one = set_oracle(oracle, epsilon, 1)
        choices.append(
            Note("set_fake_weight", weight=fake_weight(many.p, many.q), single_weight=fake_weight(one.p, one.q))
        )
    return tuple(choices)
