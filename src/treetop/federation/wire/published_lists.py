"""What a party publishes in rounds, signed by the server: the beacon, and the candidate list of every level."""

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256

from treetop.errors import PeerViolation
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import canonical_json
from treetop.trie.user_groups import Group, Role

_DOMAIN_DOMAIN = b"treetop domain 1\0"


@dataclass(frozen=True)
class Publication:
    """The prefixes that the candidates must descend from, as the task's public log has them."""

    length: int
    prefixes: tuple[int, ...]


@dataclass(frozen=True)
class Question:
    """Party to the devices of one group: which of these prefixes does your value begin with?"""

    task: bytes
    group: Group
    length: int
    prefixes: tuple[int, ...]
    pruned: tuple[int, ...] = ()
    """Children of published prefixes that were left out on purpose (TAPS), 2k at most."""

    @property
    def slots(self) -> int:
        """Return d: the candidates and the dummy."""
        return len(self.prefixes) + 1

    @cached_property
    def digest(self) -> bytes:
        """Return the 32 bytes that stand for this list in envelope and ledger."""
        width = (self.length + 7) >> 3
        head = b"".join(
            number.to_bytes(4, "big")
            for number in (self.group.level, _role_number(self.group), self.length, len(self.prefixes))
        )
        candidates = b"".join(prefix.to_bytes(width, "big") for prefix in self.prefixes)
        return sha256(_DOMAIN_DOMAIN + self.task + head + candidates).digest()

    def slot_of(self, prefix: int | None) -> int:
        """Run by the device: the candidate's place, or the dummy's."""
        dummy = len(self.prefixes)
        return dummy if prefix is None else self._places.get(prefix, dummy)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {prefix: place for place, prefix in enumerate(self.prefixes)}


def _role_number(group: Group) -> int:
    return tuple(Role).index(group.role)


@dataclass(frozen=True)
class Beacon:
    """Fixes every device's group: drawn by the server after the party has closed enrolment."""

    task: bytes
    party: str
    devices: int
    enrolment: bytes
    """Digest of the serial numbers enrolled: what the party was bound to before it knew the beacon."""
    beacon: bytes

    def to_bytes(self) -> bytes:
        """Return the content that the server signs."""
        return canonical_json({
            "beacon": self.beacon.hex(), "devices": self.devices, "enrolment": self.enrolment.hex(),
            "party": self.party, "task": self.task.hex(),
        })  # fmt: skip

    @classmethod
    def from_bytes(cls, content: bytes) -> "Beacon":
        """Read a content back, or refuse it."""
        try:
            told = json.loads(content)
            found = cls(
                bytes.fromhex(told["task"]), told["party"], told["devices"],
                bytes.fromhex(told["enrolment"]), bytes.fromhex(told["beacon"]),
            )  # fmt: skip
        except (ValueError, TypeError, KeyError):
            raise PeerViolation("beacon", "task, party, devices, enrolment, beacon", "something else") from None
        return _canonical(found, content)


@dataclass(frozen=True)
class PublishedList:
    """One level's question to the devices of one party, and the prefixes that it grew from."""

    party: str
    question: Question
    published: Publication

    def to_bytes(self, task: DeviceTask) -> bytes:
        """Return the content that the server signs; prefixes as hexadecimal texts, the k-RR threshold as a decimal."""
        question, published = self.question, self.published
        oracle, face = task.oracle_for(question.slots), task.face_for(question.slots)
        content = {
            "task": question.task.hex(), "party": self.party, "level": question.group.level,
            "role": question.group.role.value, "length": question.length, "oracle": oracle.name,
            "prefixes": _texts(question.prefixes), "pruned": _texts(question.pruned),
            "published_length": published.length, "published": _texts(published.prefixes),
        }  # fmt: skip
        content |= {name: str(number) for name, number in face.list_thresholds().items()}
        return canonical_json(content)

    @classmethod
    def from_bytes(cls, content: bytes, task: DeviceTask) -> "PublishedList":
        """Read a content back, or refuse it: thresholds that are not this task's own, other fields, other spelling."""
        try:
            told = json.loads(content)
            group = Group(told["level"], Role(told["role"]))
            question = Question(
                bytes.fromhex(told["task"]), group, told["length"], _numbers(told["prefixes"]), _numbers(told["pruned"])
            )
            published = Publication(told["published_length"], _numbers(told["published"]))
            found = cls(told["party"], question, published)
            same = found.to_bytes(task) == content
        except (ValueError, TypeError, KeyError, OverflowError, AttributeError):
            raise PeerViolation("candidate list", "what Treetop publishes", "something else") from None
        if not same:
            raise PeerViolation("candidate list", "its canonical form and this task's thresholds", "others")
        return found


def _canonical(found: Beacon, content: bytes) -> Beacon:
    if found.to_bytes() != content:
        raise PeerViolation("beacon", "its canonical form", "another")
    return found


def _texts(prefixes: tuple[int, ...]) -> list[str]:
    return [f"{prefix:x}" for prefix in prefixes]


def _numbers(texts: list[str]) -> tuple[int, ...]:
    return tuple(int(text, 16) for text in texts)
