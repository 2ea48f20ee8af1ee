"""What the server signs: tasks, campaigns, beacons, candidate lists. One form for all: kind, content, signature."""

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

from treetop.errors import PeerViolation
from treetop.federation.campaign import Campaign
from treetop.federation.ports import Signer, Verifier
from treetop.federation.task import DeviceTask
from treetop.trie.user_groups import Group, Role

Kind = Literal["task", "campaign", "list", "beacon"]
_SIGNED_DOMAIN = b"treetop signed 1\0"


def canonical_json(content: object) -> bytes:
    """Return the one way to write JSON down: keys sorted by code point, no spaces, ASCII."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def signed(kind: Kind, content: bytes, signer: Signer) -> bytes:
    """Run by the server: a document that devices and parties can check."""
    signature = signer.sign(_signed_bytes(kind, content)).hex()
    return canonical_json({"content": content.decode("ascii"), "kind": kind, "signature": signature})


def checked(kind: Kind, document: bytes, verifier: Verifier) -> bytes:
    """Run by the device and the party: the content of a document that a pinned key signed, or a refusal."""
    try:
        parts = json.loads(document)
        found, signature = parts["kind"], bytes.fromhex(parts["signature"])
        content: bytes = parts["content"].encode("ascii")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise PeerViolation("signed document", "kind, content and signature", "something else") from None
    if found != kind or set(parts) != {"content", "kind", "signature"}:
        raise PeerViolation("kind of a signed document", kind, found)
    if not verifier.verifies(_signed_bytes(kind, content), signature):
        raise PeerViolation("signature", "one of a pinned key", "none")
    return content


def unverified_content(document: bytes) -> Any:
    """Return the content of a signed document whose signature somebody else checks."""
    try:
        return json.loads(document)["content"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise PeerViolation("signed document", "kind, content and signature", "something else") from None


def checked_task(document: bytes, verifier: Verifier) -> DeviceTask:
    """Run by the device and the party: the task of a signed document."""
    return DeviceTask.from_canonical_bytes(checked("task", document, verifier))


def signed_task(task: DeviceTask, signer: Signer) -> bytes:
    """Run by the server."""
    return signed("task", task.canonical_bytes(), signer)


def checked_campaign(document: bytes, verifier: Verifier) -> Campaign:
    """Run by the device and the party: the campaign of a signed document."""
    return Campaign.from_canonical_bytes(checked("campaign", document, verifier))


def signed_campaign(campaign: Campaign, signer: Signer) -> bytes:
    """Run by the server."""
    return signed("campaign", campaign.canonical_bytes(), signer)


def _signed_bytes(kind: Kind, content: bytes) -> bytes:
    return _SIGNED_DOMAIN + kind.encode("ascii") + b"\0" + content


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
            fields = json.loads(content)
            found = cls(
                bytes.fromhex(fields["task"]), fields["party"], fields["devices"],
                bytes.fromhex(fields["enrolment"]), bytes.fromhex(fields["beacon"]),
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
            fields = json.loads(content)
            group = Group(fields["level"], Role(fields["role"]))
            question = Question(
                bytes.fromhex(fields["task"]),
                group,
                fields["length"],
                _numbers(fields["prefixes"]),
                _numbers(fields["pruned"]),
            )
            published = Publication(fields["published_length"], _numbers(fields["published"]))
            found = cls(fields["party"], question, published)
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
