"""Batches of reports as bytes: one envelope, then bodies of equal length (docs/explanation/wire_protocol.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from struct import Struct
from typing import Any

from treetop.errors import PeerViolation
from treetop.oracles.protocol import DeviceFace, Oracle
from treetop.oracles.registry import oracle_tagged
from treetop.trie.user_groups import Group, Role

VERSION = 1
NO_DOMAIN = bytes(32)
"""Stands for the digest of a candidate list where there is none: one-shot tasks."""
MAX_REPORTS = 1 << 20
_LAYOUT = Struct(">B32sHB32sBII")
ENVELOPE_BYTES = _LAYOUT.size
_ROLES = tuple(Role)


@dataclass(frozen=True)
class Envelope:
    """What all reports of a batch have in common; all of it is public."""

    task: bytes
    group: Group
    domain: bytes
    oracle: Oracle
    slots: int
    """d of k-RR and OUE, the dummy counted; d' of OLH; g of walsh."""

    @cached_property
    def face(self) -> DeviceFace:
        """Return how a report of this batch is written."""
        return self.oracle.form(self.slots)


@dataclass(frozen=True)
class Batch:
    """An envelope that stood its checks, and bodies that have not been read yet."""

    envelope: Envelope
    bodies: tuple[bytes, ...]

    def reports(self) -> list[Any]:
        """Read all bodies; one refused report refuses them all here, a lenient party reads them one by one."""
        return [self.envelope.face.checked(body) for body in self.bodies]


def encoded_batch(envelope: Envelope, reports: Sequence[Any]) -> bytes:
    """Run by the device, or by a fleet: write a batch."""
    role = _ROLES.index(envelope.group.role)
    head = _LAYOUT.pack(
        VERSION,
        envelope.task,
        envelope.group.level,
        role,
        envelope.domain,
        envelope.oracle.tag,
        envelope.slots,
        len(reports),
    )
    return head + b"".join(map(envelope.face.encode, reports))


def decoded_batch(data: bytes) -> Batch:
    """Run by the party: read an envelope and cut the bodies apart, or refuse the whole batch."""
    if len(data) < _LAYOUT.size:
        raise PeerViolation("bytes of a batch", f"{_LAYOUT.size} at least", len(data))
    version, task, level, role, domain, tag, slots, count = _LAYOUT.unpack_from(data)
    _require(version == VERSION, "version", VERSION, version)
    _require(level >= 1, "level", "1 at least", level)
    _require(role < len(_ROLES), "role", f"below {len(_ROLES)}", role)
    oracle = oracle_tagged(tag)
    if oracle is None:
        raise PeerViolation("oracle tag", "that of a registered oracle", tag)
    _require(oracle.has_slots(slots), "slots", oracle.slots_rule, slots)
    _require(oracle.listed == (domain != NO_DOMAIN), "domain digest", "one unless hashed", "otherwise")
    envelope = Envelope(task, Group(level, _ROLES[role]), domain, oracle, slots)
    return Batch(envelope, _bodies(data[_LAYOUT.size :], envelope.face.width, count))


def _require(holds: bool, what: str, expected: object, found: object) -> None:
    if not holds:
        raise PeerViolation(what, expected, found)


def _bodies(data: bytes, width: int, count: int) -> tuple[bytes, ...]:
    _require(1 <= count <= MAX_REPORTS, "reports", f"from 1 to {MAX_REPORTS}", count)
    _require(len(data) == count * width, "bytes of bodies", count * width, len(data))
    return tuple(data[start : start + width] for start in range(0, len(data), width))
