"""Values that no report may tell apart, and tasks small enough to audit devices with."""

from collections.abc import Callable
from dataclasses import dataclass, replace

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
SECOND = 1 << (BITS - 2)
"""Codes in slots 0 and 1 of the audited domain."""
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
        """Return a value in every slot, the dummy's too."""
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
