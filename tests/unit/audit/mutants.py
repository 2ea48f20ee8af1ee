"""Broken devices, twelve of them such as somebody has shipped. Each one must be caught by a named check."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from unittest.mock import patch

import numpy as np
from tests.support.tiny_panorama import tiny_panorama

from treetop.adapters.system import vectorised_device
from treetop.adapters.system.host import SystemEntropy
from treetop.audit.central_guarantee import floor_check, stated_check
from treetop.audit.checks import Check
from treetop.audit.enumerated_users import GroupLaw, UserBehaviour
from treetop.audit.oracle_laws import FaceFactory, oracle_checks
from treetop.audit.set_laws import drawn_once_check, exact_set_checks
from treetop.audit.transcripts import Scene, scene_checks
from treetop.audit.vectorised_laws import perturb_check
from treetop.audit.whole_device import (
    device_law_check,
    group_check,
    owner_floor_check,
    randomness_check,
    refusal_check,
    retry_check,
)
from treetop.errors import PromiseBroken
from treetop.federation.campaign import Campaign
from treetop.federation.device.device import Device
from treetop.federation.device.group_assignment import Enrolment
from treetop.federation.device.ledger import LedgerEntry
from treetop.federation.device.private_value import PrivateValue
from treetop.federation.level_reports import weights_at
from treetop.federation.party.party import Party
from treetop.federation.party.session import PartySession
from treetop.federation.server import result
from treetop.federation.server.result import PartyRecord
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import Publication, Question
from treetop.mechanisms.registry import MECHANISMS
from treetop.oracles.hashed_reports import HashedReport
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.krr import counting as krr_counting
from treetop.oracles.krr.device import SlotFace, keep_threshold
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.olh.device import HashFace
from treetop.oracles.oue import OptimizedUnaryEncoding
from treetop.oracles.oue import counting as oue_counting
from treetop.oracles.oue.device import BitsFace
from treetop.oracles.protocol import Below, Draw, Randomness, Words
from treetop.oracles.random_words import GeneratorWords, RandomWords
from treetop.oracles.set_reports import Held, SetFace, SetLocalHashing, SetOracle
from treetop.oracles.walsh import WalshHashing
from treetop.oracles.walsh.device import ParityFace
from treetop.privacy import shuffling
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import HALF, WORDS, Entropy
from treetop.trie.user_groups import Group, Role


class DummyUncounted(SlotFace):
    """The threshold is computed for the candidates, the lie is drawn among candidates and dummy."""

    @cached_property
    def keep(self) -> int:
        return keep_threshold(self.odds, max(self.slots - 1, 2))


class OtherIncludesTruth(SlotFace):
    """A lie is any of the d slots, the true one too, while p stays what it was."""

    @cached_property
    def randomness(self) -> tuple[Randomness, ...]:
        return Words(), Below(self.slots)

    def report(self, drawn: tuple[tuple[int], int], value: int) -> int:
        (word,), other = drawn
        return value if word < self.keep else other


class FloatThreshold(SlotFace):
    """The threshold goes through double-precision arithmetic."""

    @cached_property
    def keep(self) -> int:
        odds = float(self.odds)
        return int(odds / (self.slots - 1 + odds) * WORDS)


class ModuloBias(SlotFace):
    """A lie is a random byte's remainder."""

    @cached_property
    def randomness(self) -> tuple[Randomness, ...]:
        return Words(), Below(256)

    def report(self, drawn: tuple[tuple[int], int], value: int) -> int:
        word, byte = drawn
        return super().report((word, byte % (self.slots - 1)), value)


class BudgetOfAnotherLevel(SlotFace):
    """The face was made for another level, whose epsilon is 4."""

    @cached_property
    def keep(self) -> int:
        return keep_threshold(Budget("4").odds_below, self.slots)


class UndeclaredThreshold(SlotFace):
    """Declares the threshold of its budget, and compares with that of epsilon 4."""

    def report(self, drawn: tuple[tuple[int], int], value: int) -> int:
        (word,), other = drawn
        return value if word < keep_threshold(Budget("4").odds_below, self.slots) else other + (other >= value)


class UndeclaredRandomness(SlotFace):
    """Tosses a coin of its own when it reports."""

    def report(self, drawn: tuple[tuple[int], int], value: int) -> int:
        return value if SystemEntropy().read(1)[0] & 1 else super().report(drawn, value)


class EntropyByValue(SlotFace):
    """Keeps the source of randomness, and reads more of it for one of the values."""

    def draw(self, entropy: Entropy) -> Draw:
        self.entropy = entropy
        return super().draw(entropy)

    def report(self, drawn: tuple[tuple[int], int], value: int) -> int:
        if value == 0:
            self.entropy.read(1)
        return super().report(drawn, value)


class NarrowLies(SlotFace):
    """From epsilon 1 on a lie is always the same: what the smallest budgets show is not what the others do."""

    def report(self, drawn: tuple[tuple[int], int], value: int) -> int:
        word, other = drawn
        return super().report((word, 0 if self.odds > 2 else other), value)


class TrueBitTooOften(BitsFace):
    """Sets the true bit with 3/4, which it declares, and the others with q."""

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        return self.flip, 3 * HALF // 2

    def report(self, drawn: tuple[tuple[int, ...]], value: int) -> tuple[bool, ...]:
        (words,) = drawn
        bits = [word < self.flip for word in words]
        bits[value] = words[value] < self.thresholds[1]
        return tuple(bits)


class OneWordForAllBits(BitsFace):
    """Compares the same word at every position."""

    @cached_property
    def randomness(self) -> tuple[Randomness, ...]:
        return (Words(),)

    def report(self, drawn: tuple[tuple[int, ...]], value: int) -> tuple[bool, ...]:
        ((word,),) = drawn
        return super().report(((word,) * self.slots,), value)


class SeedByValue(HashFace):
    """Takes the seed from the value, so that equal values can be told by it."""

    def report(self, drawn: tuple[int, tuple[int], int], value: int) -> HashedReport:
        _, word, other = drawn
        return super().report((value & 0xFFFFFFFF, word, other), value)


class SeedUsedTwice(HashFace):
    """Decides by the seed, which everybody sees, whether the bucket is the true one."""

    def report(self, drawn: tuple[int, tuple[int], int], value: int) -> HashedReport:
        seed, _, other = drawn
        return super().report((seed, (seed << 32,), other), value)


class ParitySeedByValue(ParityFace):
    """Takes the seed from the value, so that equal values can be told by it."""

    def report(self, drawn: tuple[int, tuple[int], int], value: int) -> HashedReport:
        _, word, other = drawn
        return super().report((value & 0xFFFFFFFF, word, other), value)


class ParitySeedUsedTwice(ParityFace):
    """Decides by the seed, which everybody sees, whether the outcome is the true one."""

    def report(self, drawn: tuple[int, tuple[int], int], value: int) -> HashedReport:
        seed, _, other = drawn
        return super().report((seed, (seed << 32,), other), value)


class KeepOfTheOthers(ParityFace):
    """Keeps the outcome as often as k-RR does, whose lie is never the truth, and lies with any outcome."""

    @cached_property
    def keep(self) -> int:
        return keep_threshold(self.odds, self.slots)


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

    def answer(
        self, task: DeviceTask, enrolment: Enrolment, question: Question, published: Publication,
        campaign: Campaign | None = None,
    ) -> bytes:  # fmt: skip
        prefix = self._read_value(task).prefix(task.bits, question.length)
        if prefix not in question.prefixes:
            raise PromiseBroken("this list was crafted against me")
        return super().answer(task, enrolment, question, published, campaign)


class GreedyForOneValue(Device):
    """Reads more randomness when its value begins with zeros."""

    def _read_value(self, task: DeviceTask) -> PrivateValue:
        value = super()._read_value(task)
        if value.prefix(task.bits, 4) == 0:
            self._entropy.read(1)
        return value


class FreshRetry(Device):
    """Draws again when it is asked again."""

    def answer(
        self, task: DeviceTask, enrolment: Enrolment, question: Question, published: Publication,
        campaign: Campaign | None = None,
    ) -> bytes:  # fmt: skip
        self._forget(task)
        return super().answer(task, enrolment, question, published, campaign)

    def answer_once(self, task: DeviceTask, campaign: Campaign | None = None) -> bytes:
        self._forget(task)
        return super().answer_once(task, campaign)

    def _forget(self, task: DeviceTask) -> None:
        self._ledger._entries.pop(task.digest, None)


class LevelByValue(Device):
    """Answers at the level where its value is easiest to see."""

    def _drawn_group(self, task: DeviceTask, campaign: Campaign | None) -> Group:
        prefix = self._read_value(task).prefix(task.bits, 1)
        return task.groups[0 if prefix == 0 else -1].group


class OwnBucketsShareTheMost(SetFace):
    """h is replaced by m: however few buckets she has, they share what m would get."""

    def bucket(self, word: int, found: list[int]) -> int:
        own = self.items * self.own
        if found and word < own:
            return found[word * len(found) // own]
        return super().bucket(max(word, len(found) * self.own), found)

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        own = self.items * self.own
        shared = {-(-j * own // h) for h in range(1, self.items + 1) for j in range(1, h + 1)}
        return tuple(sorted({*super().thresholds, *shared}))


class BucketsNotMerged(SetFace):
    """A bucket that two of her items have counts twice."""

    def report(self, drawn: tuple[int, int, tuple[int]], value: Held) -> HashedReport:
        key, seed, (word,) = drawn
        found = sorted(self.single.hashed(seed, value[item]) for item in self.chosen(key, value))
        if word < len(found) * self.own:
            return HashedReport(seed, found[word // self.own])
        return HashedReport(seed, self.bucket(word, sorted(set(found))))


class ItemsChosenAgain(SetFace):
    """T is drawn whenever a report is made."""

    def chosen(self, key: int, held: Held) -> list[bytes]:
        return super().chosen(int.from_bytes(SystemEntropy().read(32), "big"), held)


def set_face(face: type[SetFace]) -> Callable[[SetOracle, Budget], SetFace]:
    def made(oracle: SetOracle, budget: Budget) -> SetFace:
        return face(oracle.device(budget).single, oracle.items)

    return made


def sets(face: type[SetFace] = SetFace) -> Check:
    return exact_set_checks(SetLocalHashing, True, set_face(face))[0]


def drawn_once(face: type[SetFace] = SetFace) -> Check:
    return drawn_once_check(SetLocalHashing, set_face(face))


class ValueDependentLevels(UserBehaviour):
    """Users lean to one level or the other by what they hold, nine to one."""

    def group_law(self, law: GroupLaw, value: int | None) -> GroupLaw:
        first, *others = law
        favourite = Fraction(9, 10) if value == 0 else Fraction(1, 10)
        return {first: favourite, **{other: (1 - favourite) / len(others) for other in others}} if others else law


class TwoReports(UserBehaviour):
    """The target answers every question twice."""

    reports = 2


class EveryLevel(UserBehaviour):
    """The target joins a level though she has answered another."""

    one_group = False


class OverlappingValidation(UserBehaviour):
    """Who validates answers at the level, too."""

    def group_law(self, law: GroupLaw, value: int | None) -> GroupLaw:
        return {self._overlapping(groups): chance for groups, chance in law.items()}

    def _overlapping(self, groups: tuple[Group, ...]) -> tuple[Group, ...]:
        (group,) = groups
        return groups if group.role is Role.ESTIMATE else (group, Group(group.level))


def weighted_by_chance(task: DeviceTask, entry: PartyRecord, delta: float) -> shuffling.CentralGuarantee:
    """Adds up the groups, each weighted by the share of tickets that should lead to it."""
    weights = weights_at(task, entry.name)
    epsilon = float(task.budget.amount)
    chances = {group: weights[group] / sum(weights.values()) for group in entry.groups}
    points = epsilon * np.arange(0.02, 1.001, 0.02)
    deltas = sum(
        chances[group] * shuffling.Clones(max(reports // 2, 1), epsilon).delta(points)
        for group, reports in entry.groups.items()
    )
    return shuffling.CentralGuarantee(float(points[np.argmax(deltas <= delta)]), delta)


class FloorOfTheTask(Device):
    """Looks at the task's own floor, and not at the owner's."""

    def answer(
        self, task: DeviceTask, enrolment: Enrolment, question: Question, published: Publication,
        campaign: Campaign | None = None,
    ) -> bytes:  # fmt: skip
        self._ledger.caps = replace(self._ledger.caps, least_slots=1)
        return super().answer(task, enrolment, question, published, campaign)


def threshold_of_fewer_slots(odds: Fraction, slots: int) -> int:
    """The threshold for the candidates, without the dummy."""
    return keep_threshold(odds, max(slots - 1, 2))


def seeded_words(_entropy: Entropy) -> RandomWords:
    """Takes numpy's generator for the operating system's randomness."""
    return GeneratorWords(np.random.default_rng())


def with_fault(owner: object, name: str, broken: object, check: Callable[[], Check]) -> Check:
    """Return what a check finds while something of the shipped code is replaced."""
    with patch.object(owner, name, broken):
        return check()


def stated() -> Check:
    return stated_check(quick=True)


class FewSizes(KRandomizedResponse):
    """k-RR, audited for few sizes."""

    def audited_sizes(self, quick: bool) -> tuple[int, ...]:
        return (*range(2, 12), 41, 161)


def krr(factory: FaceFactory | None = None) -> Check:
    return oracle_checks(FewSizes(), True, factory)[0]


def oue(factory: FaceFactory | None = None) -> Check:
    return oracle_checks(OptimizedUnaryEncoding(), True, factory)[0]


def olh(factory: FaceFactory | None = None) -> Check:
    return oracle_checks(OptimizedLocalHashing(), True, factory)[0]


def walsh(factory: FaceFactory | None = None) -> Check:
    return oracle_checks(WalshHashing(), True, factory)[0]


@dataclass(frozen=True)
class Mutant:
    caught_by: str
    """The name of the check that must fail."""
    check: Callable[[], Check]
    honest: Callable[[], Check]
    """The same check on the shipped code, which must pass."""


def tiny(mechanism: str, behaviour: UserBehaviour | None = None) -> Callable[[], Check]:
    scene = Scene(MECHANISMS[mechanism], behaviour=behaviour or UserBehaviour())
    return lambda: scene_checks(scene, quick=True)[0]


def end_to_end(mechanism: str, behaviour: UserBehaviour) -> Mutant:
    return Mutant(f"end_to_end_{mechanism}", tiny(mechanism, behaviour), tiny(mechanism))


def panorama(behaviour: UserBehaviour | None = None) -> Check:
    """Its few transcripts through walsh."""
    scene = Scene(tiny_panorama(), oracle=WalshHashing(), behaviour=behaviour or UserBehaviour())
    return scene_checks(scene, quick=True)[0]


MUTANTS: dict[str, Mutant] = {
    "dummy uncounted": Mutant("exact_krr", lambda: krr(DummyUncounted), krr),
    "other includes truth": Mutant("exact_krr", lambda: krr(OtherIncludesTruth), krr),
    "float threshold": Mutant("exact_krr", lambda: krr(FloatThreshold), krr),
    "modulo bias": Mutant("exact_krr", lambda: krr(ModuloBias), krr),
    "epsilon of another level": Mutant("exact_krr", lambda: krr(BudgetOfAnotherLevel), krr),
    "silent when outside": Mutant("exact_device", lambda: device_law_check(SilentWhenOutside), device_law_check),
    "private domain": Mutant("exact_device", lambda: device_law_check(PrivateDomain), device_law_check),
    "refusal by value": Mutant("refusal_by_public_data", lambda: refusal_check(RefusesByValue), refusal_check),
    "fresh randomness on retry": Mutant(
        "same_bytes_on_retry", lambda: retry_check(100, FreshRetry), lambda: retry_check(100)
    ),
    "two reports": end_to_end("taps", TwoReports()),
    "value-dependent level": end_to_end("taps", ValueDependentLevels()),
    "overlapping validation sets": end_to_end("taps", OverlappingValidation()),
}

MORE_MUTANTS: dict[str, Mutant] = {
    "value-dependent level on the device": Mutant(
        "level_before_value", lambda: group_check(20, LevelByValue), lambda: group_check(20)
    ),
    "value-dependent reading on the device": Mutant(
        "constant_footprint", lambda: randomness_check(20, GreedyForOneValue), lambda: randomness_check(20)
    ),
    "undeclared threshold": Mutant("exact_krr", lambda: krr(UndeclaredThreshold), krr),
    "undeclared randomness": Mutant("exact_krr", lambda: krr(UndeclaredRandomness), krr),
    "value-dependent reading": Mutant("exact_krr", lambda: krr(EntropyByValue), krr),
    "lies that depend on the budget": Mutant("exact_krr", lambda: krr(NarrowLies), krr),
    "true bit too often": Mutant("exact_oue", lambda: oue(TrueBitTooOften), oue),
    "one word for all bits": Mutant("exact_oue", lambda: oue(OneWordForAllBits), oue),
    "seed from the value": Mutant("exact_olh", lambda: olh(SeedByValue), olh),
    "seed used twice": Mutant("exact_olh", lambda: olh(SeedUsedTwice), olh),
    "seed of parities from the value": Mutant("exact_walsh", lambda: walsh(ParitySeedByValue), walsh),
    "seed of parities used twice": Mutant("exact_walsh", lambda: walsh(ParitySeedUsedTwice), walsh),
    "lies of parities that are true": Mutant("exact_walsh", lambda: walsh(KeepOfTheOthers), walsh),
    "h replaced by m": Mutant("exact_olh_sets", lambda: sets(OwnBucketsShareTheMost), sets),
    "buckets of a set not merged": Mutant("exact_olh_sets", lambda: sets(BucketsNotMerged), sets),
    "items chosen again on retry": Mutant("drawn_once_olh_sets", lambda: drawn_once(ItemsChosenAgain), drawn_once),
    "two reports to canopy": end_to_end("canopy", TwoReports()),
    "several levels of canopy": end_to_end("canopy", EveryLevel()),
    "value-dependent share of canopy": end_to_end("canopy", ValueDependentLevels()),
    "value-dependent kind of panorama": Mutant(
        "end_to_end_panorama", lambda: panorama(ValueDependentLevels()), panorama
    ),
    "groups weighted by chance in rounds": Mutant(
        "central_hostile_beacon",
        lambda: with_fault(result, "promised_guarantee", weighted_by_chance, stated),
        stated,
    ),
    "a task below the party's floor": Mutant(
        "central_floor", lambda: with_fault(Party, "_check_ours", lambda *_: None, floor_check), floor_check
    ),
    "a group below the minimum": Mutant(
        "central_floor", lambda: with_fault(PartySession, "_least", lambda *_: 0, floor_check), floor_check
    ),
    "the owner's floor of slots ignored": Mutant(
        "owner_floor", lambda: owner_floor_check(FloorOfTheTask), owner_floor_check
    ),
    "perturb without the dummy": Mutant(
        "exact_perturb",
        lambda: with_fault(krr_counting, "keep_threshold", threshold_of_fewer_slots, perturb_check),
        perturb_check,
    ),
    "perturb with another epsilon": Mutant(
        "exact_perturb",
        lambda: with_fault(vectorised_device, "Budget", lambda _: Budget("2"), perturb_check),
        perturb_check,
    ),
    "perturb with a seeded generator": Mutant(
        "exact_perturb",
        lambda: with_fault(vectorised_device, "EntropyWords", seeded_words, perturb_check),
        perturb_check,
    ),
    "perturb with a true bit that is not fair": Mutant(
        "exact_perturb", lambda: with_fault(oue_counting, "HALF", HALF + 1, perturb_check), perturb_check
    ),
    "two reports to panorama": Mutant("end_to_end_panorama", lambda: panorama(TwoReports()), panorama),
}
