"""Inputs that the auditor chooses: values that no report may tell apart, small tasks, and random bytes."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.federation.device.device import Device, ValueSource
from treetop.federation.device.group_assignment import Enrolment
from treetop.federation.device.ledger import Caps, Ledger
from treetop.federation.task import DeviceTask, WeightedGroup
from treetop.federation.wire.signed_documents import Publication, Question
from treetop.oracles.protocol import DeviceFace, Oracle, key_of
from treetop.privacy.budget import LARGEST, Budget
from treetop.privacy.randomness import Entropy
from treetop.trie.user_groups import Group

BITS = 8
ENROLMENT = Enrolment(b"device 1", b"beacon")
FIRST = 0
"""A code in slot 0 of the audited domain."""
SECOND = 1 << (BITS - 2)
"""A code in slot 1, where a level has two bits."""
OUTSIDE: int | None = None
"""An item without a code: the dummy's slot."""
DeviceFactory = Callable[[ValueSource, Entropy, Ledger], Device]


@dataclass(frozen=True)
class Audited:
    """One task, and in rounds the one question of it that is asked."""

    task: DeviceTask
    question: Question
    published: Publication

    @property
    def values(self) -> tuple[int | None, ...]:
        """Return a value in every slot, the dummy's included."""
        step = BITS - self.question.length
        return (*(prefix << step for prefix in self.question.prefixes), OUTSIDE)

    @property
    def face(self) -> DeviceFace:
        """Return how its devices answer."""
        return self.task.unlisted_face if self.task.one_shot else self.task.face_for(self.question.slots)

    def asked_value(self, code: int) -> int:
        """Return what the oracle is asked about a code: its slot in the question, or the key of its first bits."""
        prefix = code >> (BITS - self.question.length)
        return key_of(prefix) if self.task.one_shot else self.question.slot_of(prefix)

    def answer(self, device: Device) -> bytes:
        """Ask a device, as its party would."""
        if self.task.one_shot:
            return device.answer_once(self.task)
        return device.answer(self.task, ENROLMENT, self.question, self.published)

    def named(self, name: str) -> "Audited":
        """Return the same question as another task."""
        task = replace(self.task, name=name)
        return Audited(task, replace(self.question, task=task.digest), self.published)


def audited(oracle: Oracle, budget: Budget, bits_of_level: int = 2) -> Audited:
    """Return a task about the first bits of a code: 2^bits candidates and the dummy, all in one group."""
    group = Group(1)
    lengths = (0, bits_of_level, BITS)
    task = DeviceTask("audit", "audit", budget, oracle.name, 10, lengths, (WeightedGroup(group, 1),))
    question = Question(task.digest, group, bits_of_level, tuple(range(1 << bits_of_level)))
    return Audited(task, question, Publication(0, (0,)))


def fresh_ledger() -> Ledger:
    """Return the ledger of a new device."""
    return opened_ledger(MemoryLedger(), MemoryCounter())


def opened_ledger(store: MemoryLedger, counter: MemoryCounter) -> Ledger:
    """Return the ledger of a device that starts again, whose user allows what the audit asks for."""
    return Ledger(store, counter, Caps(LARGEST, LARGEST, least_slots=3, window=LARGEST))


class Exhausted(Exception):
    """The sampler wanted more bytes than the script has; its argument is the number of bytes in that read."""


class ScriptedEntropy:
    """Randomness from a script, to see what a sampler does with every possible byte."""

    def __init__(self, script: bytes) -> None:
        self.script = script
        self.taken = 0

    def read(self, count: int) -> bytes:
        """Return the next bytes of the script."""
        if self.taken + count > len(self.script):
            raise Exhausted(count)
        self.taken += count
        return self.script[self.taken - count : self.taken]


class ReplayedEntropy:
    """A fixed stream of bytes for every value: any difference between two runs is then due to the value."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._read = 0

    def read(self, count: int) -> bytes:
        """Return the next bytes of the stream."""
        self._read += 1
        stream = b"".join(sha256(f"{self._seed} {self._read} {block}".encode()).digest() for block in range(count + 1))
        return stream[:count]


class CountingEntropy:
    """Passes randomness on and counts the bytes."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self.taken = 0

    def read(self, count: int) -> bytes:
        """Return what the source returns."""
        self.taken += count
        return self._read(count)


def word(number: int) -> bytes:
    """Return a 64-bit word as a sampler reads it."""
    return number.to_bytes(8, "big")
