"""How many fake devices it takes to push an item that nobody holds into an answer."""

from math import ceil

from treetop.errors import InvalidInput
from treetop.oracles.registry import set_oracle
from treetop.oracles.set_question import SetQuestion
from treetop.privacy.epsilon import Epsilon


def fake_weight(p: float, q: float) -> float:
    """Return how many users who hold an item a report that was crafted for it weighs: (1 - q) / (p - q)."""
    if not 0 <= q < p <= 1:
        raise InvalidInput(f"expected probabilities 0 <= q < p <= 1, found p = {p} and q = {q}")
    return (1 - q) / (p - q)


def fakes_needed(count_of_kth: float, p: float, q: float) -> int:
    """Return how many crafted reports, spread over all levels like honest ones, give an unheld item the k-th count.

    A crafted report supports its item for certain, where an honest one of another item does so with q; in the estimate
    (c / n - q) / (p - q) it therefore weighs (1 - q) / (p - q) honest users. Hence c_k (p - q) / (1 - q): about
    c_k (p - q) where q is small. Fakes that only hold the item and follow the protocol must be c_k themselves.
    """
    return max(1, ceil(max(count_of_kth, 0.0) / fake_weight(p, q)))


def choices_of_sets(asked: SetQuestion, oracle: str, epsilon: Epsilon) -> tuple[str, ...]:
    """Say what the counts mean, and how much one fake user could add to them: as many users as a report weighs."""
    said, m = [str(asked)], asked.items_per_user
    if m > 1:
        many, one = (set_oracle(oracle, epsilon, items) for items in (m, 1))
        weights = tuple(fake_weight(each.p, each.q) for each in (many, one))
        said.append(
            "one crafted report adds as much to a count as {:.1f} users who hold the item (as {:.1f} where everybody "
            "reports one item)".format(*weights)
        )
    return tuple(said)
