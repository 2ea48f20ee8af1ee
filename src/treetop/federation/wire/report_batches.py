"""Batches of reports as bytes: one envelope, then bodies of equal length (docs/explanation/wire_protocol.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any

from treetop.errors import PeerViolation
from treetop.federation.report_bodies import BODIES, ReportBody
from treetop.federation.task import OracleName
from treetop.federation.thresholds import MOST_BUCKETS, MOST_SLOTS
from treetop.trie.user_groups import Group, Role

VERSION = 1
NO_DOMAIN = bytes(32)
"""Stands for the digest of a candidate list where there is none: one-shot tasks."""
MOST_REPORTS = 1 << 20
_LAYOUT = Struct(">B32sHB32sBII")
_ROLES = tuple(Role)
_ORACLE_OF_TAG: dict[int, OracleName] = {body.tag: name for name, body in BODIES.items()}


@dataclass(frozen=True)
class Envelope:
    """What all reports of a batch have in common; all of it is public."""

    task: bytes
    group: Group
    domain: bytes
    oracle: OracleName
    slots: int
    """d of k-RR and OUE, the dummy counted; d' of OLH."""

    @property
    def body(self) -> ReportBody:
        """Return how a report of this batch is written."""
        return BODIES[self.oracle](self.slots)


@dataclass(frozen=True)
class Batch:
    """An envelope that stood its checks, and bodies that have not been read yet."""

    envelope: Envelope
    bodies: tuple[bytes, ...]

    def reports(self) -> list[Any]:
        """Read all bodies; one refused report refuses them all here, a lenient party reads them one by one."""
        return [self.envelope.body.decode(body) for body in self.bodies]


def encoded_batch(envelope: Envelope, reports: Sequence[Any]) -> bytes:
    """Run by the device, or by whoever gathers reports: write a batch."""
    role = _ROLES.index(envelope.group.role)
    head = _LAYOUT.pack(
        VERSION, envelope.task, envelope.group.level, role, envelope.domain,
        envelope.body.tag, envelope.slots, len(reports),
    )  # fmt: skip
    return head + b"".join(map(envelope.body.encode, reports))


def decoded_batch(data: bytes) -> Batch:
    """Run by the party: read an envelope and cut the bodies apart, or refuse the whole batch."""
    if len(data) < _LAYOUT.size:
        raise PeerViolation("bytes of a batch", f"{_LAYOUT.size} at least", len(data))
    version, task, level, role, domain, tag, slots, count = _LAYOUT.unpack_from(data)
    _require(version == VERSION, "version", VERSION, version)
    _require(level >= 1, "level", "1 at least", level)
    _require(role < len(_ROLES), "role", f"below {len(_ROLES)}", role)
    _require(tag in _ORACLE_OF_TAG, "oracle tag", sorted(_ORACLE_OF_TAG), tag)
    envelope = Envelope(task, Group(level, _ROLES[role]), domain, _ORACLE_OF_TAG[tag], slots)
    _check_slots(envelope)
    return Batch(envelope, _bodies(data[_LAYOUT.size :], envelope.body.width, count))


def _require(holds: bool, what: str, expected: object, found: object) -> None:
    if not holds:
        raise PeerViolation(what, expected, found)


def _check_slots(envelope: Envelope) -> None:
    hashed = envelope.oracle == "olh"
    most = MOST_BUCKETS if hashed else MOST_SLOTS
    _require(2 <= envelope.slots <= most, "slots", f"from 2 to {most}", envelope.slots)
    _require(hashed == (envelope.domain == NO_DOMAIN), "domain digest", "one unless hashed", "otherwise")


def _bodies(data: bytes, width: int, count: int) -> tuple[bytes, ...]:
    _require(1 <= count <= MOST_REPORTS, "reports", f"from 1 to {MOST_REPORTS}", count)
    _require(len(data) == count * width, "bytes of bodies", count * width, len(data))
    return tuple(data[start : start + width] for start in range(0, len(data), width))


def check_envelope(envelope: Envelope, expected: Envelope) -> None:
    """Run by the party: refuse a batch for another task, group, candidate list, oracle or domain size."""
    for field in ("task", "group", "domain", "oracle", "slots"):
        wanted, found = getattr(expected, field), getattr(envelope, field)
        _require(wanted == found, f"{field} of a batch", _shown(wanted), _shown(found))


def _shown(field: object) -> object:
    return field.hex() if isinstance(field, bytes) else field
