"""What the server signs: tasks, campaigns, beacons, candidate lists. One form for all: kind, content, signature."""

from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Literal

from treetop.federation.campaign import Campaign
from treetop.federation.documents import (
    CODE,
    DIGEST,
    NAME,
    READABLE,
    DocumentCode,
    Rule,
    canonical_json,
    read_canonical,
    read_json,
    record,
    require,
    rows,
    text,
    whole,
)
from treetop.federation.ports import Signer, Verifier
from treetop.federation.task import LEVEL, LONGEST_CODE, ROLE, DeviceTask
from treetop.federation.wire.uploads import MAX_TICKETS
from treetop.oracles.protocol import MAX_SLOTS
from treetop.oracles.registry import task_oracles
from treetop.trie.user_groups import Group, Role

Kind = Literal["task", "campaign", "list", "beacon"]
MIN_BEACON_BYTES = 16
MAX_BEACON_BYTES = 64
_SIGNED_DOMAIN = b"treetop signed 1\0"


def signed(kind: Kind, content: bytes, signer: Signer) -> bytes:
    """Run by the server: a document that devices and parties can check."""
    signature = signer.sign(_signed_bytes(kind, content)).hex()
    return canonical_json({"content": content.decode("ascii"), "kind": kind, "signature": signature})


_ENVELOPE = record({"content": text("[\\x00-\\x7f]*"), "kind": READABLE, "signature": text("([0-9a-f]{2})+")})


def checked(kind: Kind, document: bytes, verifier: Verifier) -> bytes:
    """Run by the device and the party: the content of a document that a pinned key signed, or a refusal."""
    parts = _envelope(document)
    require(parts["kind"] == kind, DocumentCode.SIGNATURE, "kind of a signed document", kind, parts["kind"])
    content: bytes = parts["content"].encode("ascii")
    signed_by_pinned = verifier.verifies(_signed_bytes(kind, content), bytes.fromhex(parts["signature"]))
    require(signed_by_pinned, DocumentCode.SIGNATURE, "signature", "one of a pinned key", "none")
    return content


def unverified_content(document: bytes) -> str:
    """Return the content of a signed document whose signature somebody else checks."""
    content: str = _envelope(document)["content"]
    return content


def _envelope(document: bytes) -> dict[str, str]:
    parts: dict[str, str] = read_json("signed document", document)
    _ENVELOPE("signed document", parts)
    return parts


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
        """Run by the device: the candidate's index, or the dummy's."""
        dummy = len(self.prefixes)
        return dummy if prefix is None else self._places.get(prefix, dummy)

    @cached_property
    def _places(self) -> dict[int, int]:
        return {prefix: index for index, prefix in enumerate(self.prefixes)}


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
        return canonical_json(
            {
                "beacon": self.beacon.hex(),
                "devices": self.devices,
                "enrolment": self.enrolment.hex(),
                "party": self.party,
                "task": self.task.hex(),
            }
        )

    @classmethod
    def from_bytes(cls, content: bytes) -> "Beacon":
        """Read a content back, or refuse it."""
        fields = read_canonical("beacon", content, _BEACON)
        return cls(
            bytes.fromhex(fields["task"]),
            fields["party"],
            fields["devices"],
            bytes.fromhex(fields["enrolment"]),
            bytes.fromhex(fields["beacon"]),
        )


_BEACON = record(
    {
        "beacon": text(f"([0-9a-f]{{2}}){{{MIN_BEACON_BYTES},{MAX_BEACON_BYTES}}}"),
        "devices": whole(0, MAX_TICKETS),
        "enrolment": DIGEST,
        "party": NAME,
        "task": DIGEST,
    }
)


@dataclass(frozen=True)
class PublishedList:
    """One level's question to the devices of one party, and the prefixes that it grew from."""

    party: str
    question: Question
    published: Publication

    def to_bytes(self, task: DeviceTask) -> bytes:
        """Return the content that the server signs; prefixes as hexadecimal texts, the k-RR threshold as a decimal."""
        question = self.question
        published = self.published
        content = {
            "task": question.task.hex(),
            "party": self.party,
            "level": question.group.level,
            "role": question.group.role.value,
            "length": question.length,
            "prefixes": _texts(question.prefixes),
            "pruned": _texts(question.pruned),
            "published_length": published.length,
            "published": _texts(published.prefixes),
        }
        return canonical_json({**content, **_terms(task, question.slots)})

    @classmethod
    def from_bytes(cls, content: bytes, task: DeviceTask) -> "PublishedList":
        """Read a content back, or refuse it: thresholds that are not this task's own, other fields, other spelling."""
        fields = read_canonical("candidate list", content, _rule_of_lists(task))
        group = Group(fields["level"], Role(fields["role"]))
        question = Question(
            bytes.fromhex(fields["task"]),
            group,
            fields["length"],
            _numbers(fields["prefixes"]),
            _numbers(fields["pruned"]),
        )
        listed = cls(fields["party"], question, Publication(fields["published_length"], _numbers(fields["published"])))
        terms = _terms(task, question.slots)
        found = {name: fields[name] for name in fields if name not in _LIST_FIELDS}
        require(found == terms, DocumentCode.MEANING, "oracle of the list", terms, found)
        return listed


_LENGTH = whole(0, LONGEST_CODE)
_PREFIXES = rows(CODE, 0, 2 * MAX_SLOTS)
_LIST_FIELDS: dict[str, Rule] = {
    "length": _LENGTH,
    "level": LEVEL,
    "party": NAME,
    "prefixes": rows(CODE, 1, MAX_SLOTS - 1),
    "pruned": _PREFIXES,
    "published": _PREFIXES,
    "published_length": _LENGTH,
    "role": ROLE,
    "task": DIGEST,
}


def _rule_of_lists(task: DeviceTask) -> Rule:
    """Return the fields of the lists of a task: oracles of other packages may have thresholds of their own."""
    faces = [oracle.device(task.budget, 2) for oracle in task_oracles(task.oracle) if oracle.listed]
    thresholds = {"keep", *(name for face in faces for name in face.list_thresholds())}
    return record({**_LIST_FIELDS, "oracle": READABLE}, dict.fromkeys(thresholds, READABLE))


def _terms(task: DeviceTask, slots: int) -> dict[str, str]:
    """Return what a list of d slots says of its oracle: the name, and thresholds that depend on d, as decimals."""
    thresholds = task.face_for(slots).list_thresholds()
    return {"oracle": task.oracle_for(slots).name} | {name: str(number) for name, number in thresholds.items()}


def _texts(prefixes: tuple[int, ...]) -> list[str]:
    return [f"{prefix:x}" for prefix in prefixes]


def _numbers(texts: list[str]) -> tuple[int, ...]:
    return tuple(int(text, 16) for text in texts)
