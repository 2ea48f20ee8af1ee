"""A handful of users whose every report is enumerated, in place of the simulation's thousands."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from treetop.audit.choices import Choices, Law
from treetop.mechanisms.dialogue import CollectReports, DivideUsers
from treetop.oracles.krr.device import keep_threshold
from treetop.oracles.tallies import Tally
from treetop.privacy.budget import Budget
from treetop.privacy.guarantee import OncePerUser
from treetop.privacy.randomness import WORDS
from treetop.simulation.simulated_users import SimulatedUsers
from treetop.trie.candidate_domain import CandidateDomain
from treetop.trie.user_groups import Group, GroupSizes

BITS = 8


def slot_law(budget: Budget, slots: int, truth: int, reported: int) -> Fraction:
    """Return how likely k-RR with the shipped threshold reports a slot for another."""
    keep = keep_threshold(budget.odds_below, slots)
    return Fraction(keep, WORDS) if truth == reported else Fraction(WORDS - keep, WORDS * (slots - 1))


@dataclass(frozen=True)
class User:
    """Somebody with one value or, for the target, one of several that nobody must tell apart."""

    values: tuple[int, ...]
    group: Group | None = None
    """Where she answers; None: drawn by the public weights."""


class UserBehaviour:
    """What users do with a question; the broken ones in the tests do something else."""

    def group_law(self, sizes: GroupSizes, value: int) -> dict[tuple[Group, ...], Fraction]:  # noqa: ARG002
        """Return how likely a user answers in which groups: one of them, by the public weights."""
        total = sum(sizes.values())
        return {(group,): Fraction(size, total) for group, size in sizes.items() if size}

    def reports(self, user: User) -> int:  # noqa: ARG002
        """Return how many independent reports a question gets from a user."""
        return 1


class EnumeratedUsers(SimulatedUsers):
    """The users of one party, answering in every possible way."""

    def __init__(self, users: Sequence[User], budget: Budget, choices: Choices, conduct: UserBehaviour) -> None:
        self.users, self.budget, self.choices, self.conduct = users, budget, choices, conduct

    def divide(self, request: DivideUsers) -> None:
        """Put every user into her group, or let her draw it; everybody sees where she is."""
        self._once = OncePerUser(frozenset(request.sizes))
        self._groups = [self._group_of(user, request.sizes) for user in self.users]

    def _group_of(self, user: User, sizes: GroupSizes) -> tuple[Group, ...]:
        if user.group is not None:
            return (user.group,)
        laws = [self.conduct.group_law(sizes, value) for value in user.values]
        groups = {chosen: None for law in laws for chosen in law}
        return self.choices.choose({chosen: [law.get(chosen, Fraction(0)) for law in laws] for chosen in groups})

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        support = np.zeros(len(request.domain) + 1, dtype=np.int64)
        reports = 0
        for user, groups in zip(self.users, self._groups, strict=True):
            for _ in range(self.conduct.reports(user) if group in groups else 0):
                support[self.choices.choose(self._options(user, request.domain))] += 1
                reports += 1
        return Tally(support, reports)

    def _options(self, user: User, domain: CandidateDomain) -> dict[int, Law]:
        slots = len(domain) + 1
        truths = [_slot(value, domain) for value in user.values]
        spread = truths if len(truths) > 1 else truths * len(self.choices.probabilities)
        return {y: [slot_law(self.budget, slots, truth, y) for truth in spread] for y in range(slots)}


def _slot(value: int, domain: CandidateDomain) -> int:
    prefix = value >> (BITS - domain.length)
    found = [place for place, candidate in enumerate(domain.prefixes.tolist()) if candidate == prefix]
    return found[0] if found else len(domain)
