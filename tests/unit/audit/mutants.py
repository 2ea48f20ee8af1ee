"""Twelve broken devices. Each one is a mistake that somebody has shipped; each one must be caught by a named check."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import exp

from treetop.audit.exact_epsilon import slot_cases
from treetop.audit.slot_laws import Sampler
from treetop.federation.samplers import SlotDraw, SlotSampler, uniform_below, uniform_word
from treetop.federation.thresholds import WORDS, keep_threshold

from treetop.audit.audit_report import Check
from treetop.audit.device_conduct import group_check, refusal_check, retry_check
from treetop.audit.device_laws import device_law_check
from treetop.audit.enumerated_users import User, UserBehaviour
from treetop.audit.exact_ratios import within
from treetop.audit.transcripts import Scene, end_to_end_check
from treetop.errors import PromiseBroken
from treetop.federation.device.device import Device
from treetop.federation.device.group_assignment import Enrolment
from treetop.federation.device.ledger import LedgerEntry
from treetop.federation.task import DeviceTask
from treetop.federation.wire.published_lists import Publication, Question
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import Entropy
from treetop.trie.user_groups import Group, GroupSizes, Role


class DummyUncounted(SlotSampler):
    """The threshold is computed for the candidates, the lie is drawn among candidates and dummy."""

    def __init__(self, budget: Budget, slots: int) -> None:
        super().__init__(budget, slots)
        self.keep = keep_threshold(budget, max(slots - 1, 2))


@dataclass(frozen=True)
class AnySlot:
    kept: bool
    other: int

    def report(self, slot: int) -> int:
        return slot if self.kept else self.other


class OtherIncludesTruth(SlotSampler):
    """A lie is any of the d slots, the true one too, while p stays what it was."""

    def draw(self, entropy: Entropy) -> SlotDraw:
        kept = uniform_word(entropy) < self.keep
        return AnySlot(kept, uniform_below(self.slots, entropy))  # type: ignore[return-value]


class FloatThreshold(SlotSampler):
    """The threshold goes through double-precision arithmetic."""

    def __init__(self, budget: Budget, slots: int) -> None:
        super().__init__(budget, slots)
        odds = exp(float(budget.amount))
        self.keep = int(odds / (slots - 1 + odds) * WORDS)


class ModuloBias(SlotSampler):
    """A lie is a random byte's remainder."""

    def draw(self, entropy: Entropy) -> SlotDraw:
        kept = uniform_word(entropy) < self.keep
        return SlotDraw(kept, entropy.read(1)[0] % (self.slots - 1))


class BudgetOfAnotherLevel(SlotSampler):
    """The sampler was made for another level, whose epsilon is 4."""

    def __init__(self, budget: Budget, slots: int) -> None:
        super().__init__(budget, slots)
        self.keep = keep_threshold(Budget("4"), slots)


class SilentWhenOutside(Device):
    """Says nothing when its value is none of the candidates."""

    def _settle_slot(self, task: DeviceTask, entry: LedgerEntry, question: Question) -> bytes:
        if question.slot_of(self._read_value(task).prefix(task.bits, question.length)) == len(question.prefixes):
            raise PromiseBroken("nothing to report")
        return super()._settle_slot(task, entry, question)


class PrivateDomain(Device):
    """Answers over a domain of its own when its value is none of the candidates."""

    def _settle_slot(self, task: DeviceTask, entry: LedgerEntry, question: Question) -> bytes:
        if question.slot_of(self._read_value(task).prefix(task.bits, question.length)) == len(question.prefixes):
            question = replace(question, prefixes=question.prefixes[:1])
        return super()._settle_slot(task, entry, question)


class RefusesByValue(Device):
    """Refuses a list that leaves its own value out."""

    def answer(self, task: DeviceTask, enrolment: Enrolment, question: Question, published: Publication) -> bytes:
        prefix = self._read_value(task).prefix(task.bits, question.length)
        if prefix not in question.prefixes:
            raise PromiseBroken("this list was crafted against me")
        return super().answer(task, enrolment, question, published)


class FreshRetry(Device):
    """Draws again when it is asked again."""

    def answer(self, task: DeviceTask, enrolment: Enrolment, question: Question, published: Publication) -> bytes:
        self._forget(task)
        return super().answer(task, enrolment, question, published)

    def answer_once(self, task: DeviceTask) -> bytes:
        self._forget(task)
        return super().answer_once(task)

    def _forget(self, task: DeviceTask) -> None:
        self._ledger._entries.pop(task.digest, None)


class LevelByValue(Device):
    """Answers at the level where its value is easiest to see."""

    def _drawn_group(self, task: DeviceTask) -> Group:
        prefix = self._read_value(task).prefix(task.bits, 1)
        return task.groups[0 if prefix == 0 else -1].group


class ValueDependentLevels(UserBehaviour):
    """Users lean to one level or the other by what they hold, nine to one."""

    def group_law(self, sizes: GroupSizes, value: int) -> dict[tuple[Group, ...], Fraction]:
        first, *others = [group for group, size in sizes.items() if size]
        favourite = Fraction(9, 10) if value == 0 else Fraction(1, 10)
        share = (1 - favourite) / len(others)
        return {(first,): favourite, **{(other,): share for other in others}}


class TwoReports(UserBehaviour):
    """The target answers twice."""

    def reports(self, user: User) -> int:
        return len(user.values[:2])


class OverlappingValidation(UserBehaviour):
    """Who validates answers at the level, too."""

    def group_law(self, sizes: GroupSizes, value: int) -> dict[tuple[Group, ...], Fraction]:
        honest = super().group_law(sizes, value)
        return {self._overlapping(groups): law for groups, law in honest.items()}

    def _overlapping(self, groups: tuple[Group, ...]) -> tuple[Group, ...]:
        (group,) = groups
        return groups if group.role is Role.ESTIMATE else (group, Group(group.level))


SIZES = (*range(2, 12), 41, 161)
ONE = [Budget("1")]


def krr(factory: Callable[[Budget, int], Sampler]) -> Check:
    return within("exact_krr", "", slot_cases(factory, SIZES))


@dataclass(frozen=True)
class Mutant:
    caught_by: str
    """The name of the check that must fail."""
    check: Callable[[], Check]
    honest: Callable[[], Check]
    """The same check on the shipped code, which must pass."""


def taps(conduct: UserBehaviour | None = None) -> Check:
    return end_to_end_check("end_to_end_taps", Scene("taps", conduct=conduct or UserBehaviour()), ONE, ks=[1])


MUTANTS: dict[str, Mutant] = {
    "dummy uncounted": Mutant("exact_krr", lambda: krr(DummyUncounted), lambda: krr(SlotSampler)),
    "other includes truth": Mutant("exact_krr", lambda: krr(OtherIncludesTruth), lambda: krr(SlotSampler)),
    "float threshold": Mutant("exact_krr", lambda: krr(FloatThreshold), lambda: krr(SlotSampler)),
    "modulo bias": Mutant("exact_krr", lambda: krr(ModuloBias), lambda: krr(SlotSampler)),
    "epsilon of another level": Mutant("exact_krr", lambda: krr(BudgetOfAnotherLevel), lambda: krr(SlotSampler)),
    "silent when outside": Mutant("exact_device", lambda: device_law_check(SilentWhenOutside), device_law_check),
    "private domain": Mutant("exact_device", lambda: device_law_check(PrivateDomain), device_law_check),
    "refusal by value": Mutant("refusal_by_public_data", lambda: refusal_check(RefusesByValue), refusal_check),
    "fresh randomness on retry": Mutant(
        "same_bytes_on_retry", lambda: retry_check(100, FreshRetry), lambda: retry_check(100)
    ),
    "two reports": Mutant("end_to_end_taps", lambda: taps(TwoReports()), taps),
    "value-dependent level": Mutant("end_to_end_taps", lambda: taps(ValueDependentLevels()), taps),
    "overlapping validation sets": Mutant("end_to_end_taps", lambda: taps(OverlappingValidation()), taps),
}

MORE_MUTANTS: dict[str, Mutant] = {
    "value-dependent level on the device": Mutant(
        "level_before_value", lambda: group_check(20, LevelByValue), lambda: group_check(20)
    ),
}
