"""The users of a tiny run: every random choice of one of them, the target, is enumerated; the others are fixed."""

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from treetop.audit.oracle_laws import report_law
from treetop.encoding.bit_strings import Codes, code_array
from treetop.encoding.text_code import CHUNK_VALUES
from treetop.mechanisms.dialogue import CollectNames, CollectReports, DivideUsers, DrawGroup, NameReports, Request
from treetop.oracles.frequency_oracle import Counts, FrequencyOracle, Tally
from treetop.oracles.hashing import chunk_keys
from treetop.oracles.protocol import NO_CODE_KEY, DeviceFace, Oracle
from treetop.oracles.registry import find_oracle
from treetop.oracles.walsh.device import chunk_key, no_name
from treetop.privacy.guarantee import OncePerUser
from treetop.simulation.simulated_users import SimulatedUsers
from treetop.trie.support import CandidateDomain
from treetop.trie.user_groups import Group

Chosen = TypeVar("Chosen", bound=Hashable)
GroupLaw = Mapping[tuple[Group, ...], Fraction]
"""How likely a user is in which groups: one of them, or none for now."""
PATTERN_BITS = 4
"""Bits of a pattern of the others' reports: whether some of them report their own value or "none of these"."""


class Choices:
    """One run: takes the choices of a script, then the first ones, and notes what else was possible."""

    def __init__(self, script: Sequence[int], values: int) -> None:
        self._script = script
        self._taken: list[int] = []
        self._possible: list[int] = []
        self.probabilities = [Fraction(1)] * values
        self.asked: list[Request[Any]] = []
        self.said: list[Hashable] = []

    def choose(self, options: Mapping[Chosen, Sequence[Fraction]]) -> Chosen:
        """Take one of the options, given how likely each is under every value; the run's probabilities follow."""
        step = len(self._taken)
        index = self._script[step] if step < len(self._script) else 0
        self._taken.append(index)
        self._possible.append(len(options))
        chosen = next(islice(options, index, None))
        self.probabilities = [before * now for before, now in zip(self.probabilities, options[chosen], strict=True)]
        self.said.append(chosen)
        return chosen

    def following(self) -> list[int] | None:
        """Return the script of the next run in lexicographic order, or None after the last.

        This visits all runs without copying the state of dialogues: they are generators, which cannot be copied.
        """
        for step in reversed(range(len(self._taken))):
            if self._taken[step] + 1 < self._possible[step]:
                return [*self._taken[:step], self._taken[step] + 1]
        return None


@dataclass(frozen=True)
class Transcript:
    """All that everybody but the target ever sees of one run."""

    asked: tuple[Request[Any], ...]
    """By the parties of their users, in order."""
    said: tuple[Hashable, ...]
    """By the target: which groups she joined, and what she reported."""
    probabilities: tuple[Fraction, ...]
    """One for each value that she may hold."""


def every_transcript(run: Callable[[Choices], object], values: int) -> Iterator[Transcript]:
    """Yield all transcripts of a run; their probabilities must add up to one."""
    script: list[int] | None = []
    total = [Fraction(0)] * values
    while script is not None:
        choices = Choices(script, values)
        run(choices)
        total = [before + now for before, now in zip(total, choices.probabilities, strict=True)]
        yield Transcript(tuple(choices.asked), tuple(choices.said), tuple(choices.probabilities))
        script = choices.following()
    # Otherwise a law has left out an option, or a run depends on more than its script.
    if any(sum_of_value != 1 for sum_of_value in total):
        raise AssertionError(f"the probabilities of all transcripts must add up to one, found {set(total)}")


class UserBehaviour:
    """What a user does with a question; the broken ones in the tests do something else."""

    one_group = True
    """Whether a user who is in a group joins no other."""
    reports = 1
    """How many independent reports a question gets."""

    def group_law(self, law: GroupLaw, value: int | None) -> GroupLaw:  # noqa: ARG002
        """Return how likely a user joins which groups, given the law that her party asks for."""
        return law


@dataclass(eq=False)
class Target:
    """The user whom an audit is about: she may hold any of some values, and everything random about her is a choice."""

    values: tuple[int | None, ...]
    oracle: Oracle
    """What the mechanism was told to ask through; it need not be registered."""
    behaviour: UserBehaviour
    choices: Choices
    groups: set[Group] = field(default_factory=set)

    def join(self, law: GroupLaw) -> None:
        """Draw a group, unless she has one; everybody sees which."""
        if not (self.groups and self.behaviour.one_group):
            laws = [self.behaviour.group_law(law, value) for value in self.values]
            possible = dict.fromkeys(groups for each in laws for groups, chance in each.items() if chance)
            options = {groups: [each.get(groups, Fraction(0)) for each in laws] for groups in possible}
            self.groups.update(self.choices.choose(options))

    def report(self, request: CollectReports, bits: int) -> list[bool]:
        """Report through the oracle's device face; return which slots of a tally the report counts for."""
        domain = request.domain
        counting = request.oracle
        held = tuple((slot_of if counting.listed else key_of)(value, bits, domain) for value in self.values)
        slots = range(counting.slots)
        counted = slots if counting.listed else [*domain.keys(domain.prefixes).tolist(), NO_CODE_KEY]
        return self._said(counting, held, [counted[slot] for slot in slots])

    def report_name(self, request: CollectNames, kind: int) -> list[bool]:
        """Report a whole name or a chunk of its text; return which of all names the report counts for."""
        held = tuple(name_key(value, kind, request.bits) for value in self.values)
        return self._said(request.oracle, held, range(1 << request.bits))

    def _said(self, counting: FrequencyOracle[Any], held: tuple[int, ...], counted: Sequence[int]) -> list[bool]:
        """Choose a report, given what to report for each value; return which of some slots or keys it supports."""
        oracle = self.oracle if self.oracle.name == counting.name else find_oracle(counting.name)
        face = face_of(oracle, counting.odds, counting.report_slots)
        said = self.choices.choose(report_law(face, held))
        return [face.supports(said, each) for each in counted]


class EnumeratedUsers(SimulatedUsers):
    """One party's users: somebody in each group whose report is given, and perhaps the target."""

    def __init__(self, bits: int, others: Sequence[int], pattern: int, choices: Choices, target: Target | None) -> None:
        """Take the values that the others hold in turn, and the pattern of who of them says "none of these"."""
        self._bits = bits
        self._others = others
        self._pattern = pattern
        self._choices = choices
        self._target = target
        self._once = OncePerUser()
        self._companions: dict[Group, int] = {}

    def divide(self, request: DivideUsers) -> None:
        """Put somebody into every group that has users, and let the target draw hers by the public weights."""
        self._choices.asked.append(request)
        for group, size in request.sizes.items():
            self._admit(group, size)
        if self._target:
            users = sum(request.sizes.values())
            self._target.join({(group,): Fraction(size, users) for group, size in request.sizes.items()})

    def draw(self, request: DrawGroup) -> None:
        """Put somebody into the group, and let the target join it with the share as the party wrote it."""
        self._choices.asked.append(request)
        self._admit(request.group, 1)
        if self._target:
            share = Fraction(request.share)
            self._target.join({(request.group,): share, (): 1 - share})

    def _admit(self, group: Group, size: int) -> None:
        self._once.admit(group)
        if size:
            self._companions[group] = len(self._companions)

    def _answer(self, request: CollectReports, group: Group) -> Tally:
        self._choices.asked.append(request)
        support = np.zeros(request.oracle.slots, dtype=np.int64)
        reports = 0
        if group in self._companions:
            slot = self._given_slot(self._companions[group], request.domain)
            support[slot : slot + 1] += 1  # no report counts for the dummy where a tally has no slot for it
            reports += 1
        if self._target and group in self._target.groups:
            for _ in range(self._target.behaviour.reports):
                support += self._target.report(request, self._bits)
                reports += 1
        return Tally(support, reports)

    def _given_slot(self, number: int, domain: CandidateDomain) -> int:
        """Return what a companion says: her own slot or the dummy's, as the pattern has it."""
        return slot_of(self._given_value(number), self._bits, domain)

    def _given_value(self, number: int) -> int | None:
        absent = (self._pattern >> number % PATTERN_BITS) & 1
        return None if absent else self._others[number % len(self._others)]

    def name_reports(self, request: CollectNames) -> NameReports:
        """Let somebody report every kind, and the target draw hers by the weights as the party wrote them."""
        self._choices.asked.append(request)
        kinds = [Group(1 + kind) for kind in range(len(request.weights))]
        for group in kinds:
            self._admit(group, 1)
            self._once.spend(group)
        if self._target:
            weights = [Fraction(weight) for weight in request.weights]
            self._target.join({(group,): weight / sum(weights) for group, weight in zip(kinds, weights, strict=True)})
        return self._named(request)

    def _named(self, request: CollectNames) -> NameReports:
        support = np.zeros((len(request.weights), 1 << request.bits), dtype=np.int64)
        sizes = list[int]()
        for kind in range(len(request.weights)):
            group = Group(1 + kind)
            reports = 1
            support[kind, name_key(self._given_value(self._companions[group]), kind, request.bits)] += 1
            if self._target and group in self._target.groups:
                for _ in range(self._target.behaviour.reports):
                    support[kind] += self._target.report_name(request, kind)
                    reports += 1
            sizes.append(reports)
        return EveryNameCounted(request.bits, tuple(sizes), support)


@dataclass(frozen=True, eq=False)
class EveryNameCounted:
    """Name reports where names are so few that all are counted, kind by kind."""

    bits: int
    kinds: tuple[int, ...]
    counted: Counts

    def support(self, names: Codes) -> Counts:
        """Return how many reports of whole names support each of some."""
        return self._counted(0, names)

    def _counted(self, kind: int, keys: Codes) -> Counts:
        found: Counts = self.counted[kind][keys]
        return found

    def above(self, least: int, listed: Codes) -> tuple[Codes, Counts]:
        """Return all other names with at least that support by reports of whole names, ascending, and their support."""
        names = np.setdiff1d(np.flatnonzero(self.counted[0] >= least), listed).astype(listed.dtype)
        return names, self.support(names)

    def chunk_support(self, names: Codes, chunk: int) -> Counts:
        """Return for each name how many reports of a chunk support each of its 256 values behind that name."""
        return self._counted(1 + chunk, chunk_keys(names[:, None], chunk, np.arange(CHUNK_VALUES), self.bits))

    def text_support(self, names: Codes, chunks: NDArray[np.uint8]) -> Counts:
        """Return how many reports of all kinds support each of some texts: their names, and their chunks in rows."""
        support = self.support(names)
        for chunk, values in enumerate(chunks.T):
            support = support + self._counted(1 + chunk, chunk_keys(names, chunk, values, self.bits))
        return support


@lru_cache
def face_of(oracle: Oracle, odds: Fraction, slots: int) -> DeviceFace:
    """Return how a device answers with the odds that the mechanism asks with, which need not be those promised."""
    return oracle.device_face(odds, slots)


def asked_prefix(code: int, bits: int, domain: CandidateDomain) -> int:
    """Return the prefix that a user is asked for: the first bits of her code."""
    return code >> bits - domain.length


def slot_of(value: int | None, bits: int, domain: CandidateDomain) -> int:
    """Return the slot of a code in a list: the dummy's if it is not there, or if the item has no code."""
    if value is None:
        return len(domain)
    return int(domain.slots_of(code_array([asked_prefix(value, bits, domain)], domain.length))[0])


def key_of(value: int | None, bits: int, domain: CandidateDomain) -> int:
    """Return what a device hashes where there is no list."""
    if value is None:
        return NO_CODE_KEY
    return int(domain.keys(code_array([asked_prefix(value, bits, domain)], domain.length))[0])


def name_key(value: int | None, kind: int, bits: int) -> int:
    """Return what a device reports of its name: the name itself, or the key of a chunk; one for all without a name.

    In these runs every chunk of a text is the last byte of its code.
    """
    if value is None:
        return no_name(bits)
    return chunk_key(value, kind - 1, value % CHUNK_VALUES, bits) if kind else value
