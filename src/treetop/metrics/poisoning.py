"""How many fake devices it takes to push an item that nobody holds into an answer."""

from math import ceil

from treetop.errors import InvalidInput
from treetop.oracles.registry import set_oracle
from treetop.oracles.set_reports import SetQuestion
from treetop.privacy.epsilon import Epsilon
from treetop.wording import Note


def fake_weight(p: float, q: float) -> float:
    """Return how many users who hold an item a report that was crafted for it weighs: (1 - q) / (p - q)."""
    if not 0 <= q < p <= 1:
        raise InvalidInput("probabilities_invalid", p=p, q=q)
    return (1 - q) / (p - q)


def fakes_needed(count_of_kth: float, p: float, q: float) -> int:
    """Return how many crafted reports, spread over all levels like honest ones, give an unheld item the k-th count.

    A crafted report supports its item for certain, where an honest one of another item does so with q; in the estimate
    (c / n - q) / (p - q) it therefore weighs (1 - q) / (p - q) honest users. Hence c_k (p - q) / (1 - q): about
    c_k (p - q) where q is small. Fakes that only hold the item and follow the protocol must be c_k themselves.
    """
    return max(1, ceil(max(count_of_kth, 0.0) / fake_weight(p, q)))


def choices_of_sets(asked: SetQuestion, oracle: str, epsilon: Epsilon) -> tuple[Note, ...]:
    """Return what the counts mean, and how much one fake user could add to them: as many users as a report weighs."""
    choices = [Note("set_counts", items_per_user=asked.items_per_user, reading=asked.reading)]
    if asked.items_per_user > 1:
        many = set_oracle(oracle, epsilon, asked.items_per_user)
        one = set_oracle(oracle, epsilon, 1)
        choices.append(
            Note("set_fake_weight", weight=fake_weight(many.p, many.q), single_weight=fake_weight(one.p, one.q))
        )
    return tuple(choices)
