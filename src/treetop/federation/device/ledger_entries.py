"""What stands in a device's ledger, and the one file that holds it."""

import json
from dataclasses import dataclass, field
from fractions import Fraction
from hashlib import sha256
from typing import Any

from treetop.errors import LedgerRefused
from treetop.trie.user_groups import Group, Role

_VERSION = 2

Cycle = tuple[bytes, int]
"""Digest of a campaign, and one of its cycles."""


@dataclass(frozen=True)
class LedgerEntry:
    """One task in the ledger."""

    task: bytes
    attribute: str
    group: Group
    domain: bytes
    epsilon: Fraction
    sent: bytes | None = field(default=None, repr=False)
    """The report as it goes out, envelope and all; None until it is made."""
    delivered: bool = False
    time: int = 0
    """Seconds since 1970 at which the budget was reserved."""
    cycle: Cycle | None = None
    """The cycle that paid for it when its week was drawn; None: the task pays for itself."""


@dataclass(frozen=True)
class CycleSlot:
    """The week of a cycle in which this device answers a campaign; drawn once, and it pays for the whole cycle."""

    campaign: bytes
    cycle: int
    slot: int
    """The week, from 0 to weeks - 1."""
    weeks: int
    epsilon: Fraction
    attribute: str
    name: str
    """The campaign's."""
    time: int = 0
    """Seconds since 1970 at which it was drawn."""


@dataclass(frozen=True)
class LedgerContent:
    """A ledger as it was read."""

    counter: int = 0
    entries: tuple[LedgerEntry, ...] = ()
    slots: tuple[CycleSlot, ...] = ()

    def written(self) -> bytes:
        """Return the bytes of the file."""
        content = {
            "version": _VERSION,
            "counter": self.counter,
            "entries": [_entry_json(entry) for entry in self.entries],
            "slots": [_slot_json(slot) for slot in self.slots],
        }
        text = json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")
        return text + b"\n" + sha256(text).hexdigest().encode("ascii") + b"\n"

    @classmethod
    def read(cls, data: bytes | None) -> "LedgerContent":
        """Read a file back, or refuse it; None is a new device's."""
        if data is None:
            return cls()
        text, _, rest = data.partition(b"\n")
        if rest != sha256(text).hexdigest().encode("ascii") + b"\n":
            raise LedgerRefused("checksum", "that of its content", "another: the file is damaged")
        try:
            content = json.loads(text)
            if content["version"] != _VERSION:
                raise LedgerRefused("version", str(_VERSION), str(content["version"]))
            return cls(content["counter"], tuple(map(_entry, content["entries"])), tuple(map(_slot, content["slots"])))
        except (ValueError, TypeError, KeyError) as error:
            raise LedgerRefused("content", "what a ledger writes", type(error).__name__) from None


def _entry_json(entry: LedgerEntry) -> dict[str, object]:
    return {
        "task": entry.task.hex(),
        "attribute": entry.attribute,
        "group": [entry.group.level, entry.group.role.value],
        "domain": entry.domain.hex(),
        "epsilon": str(entry.epsilon),
        "sent": entry.sent and entry.sent.hex(),
        "delivered": entry.delivered,
        "time": entry.time,
        "cycle": entry.cycle and [entry.cycle[0].hex(), entry.cycle[1]],
    }


def _entry(entry: dict[str, Any]) -> LedgerEntry:
    level, role = entry["group"]
    sent = entry["sent"]
    cycle = entry["cycle"]
    return LedgerEntry(
        task=bytes.fromhex(entry["task"]),
        attribute=entry["attribute"],
        group=Group(level, Role(role)),
        domain=bytes.fromhex(entry["domain"]),
        epsilon=Fraction(entry["epsilon"]),
        sent=None if sent is None else bytes.fromhex(sent),
        delivered=entry["delivered"],
        time=entry["time"],
        cycle=None if cycle is None else (bytes.fromhex(cycle[0]), cycle[1]),
    )


def _slot_json(slot: CycleSlot) -> dict[str, object]:
    return {**vars(slot), "campaign": slot.campaign.hex(), "epsilon": str(slot.epsilon)}


def _slot(entry: dict[str, Any]) -> CycleSlot:
    return CycleSlot(
        bytes.fromhex(entry["campaign"]),
        entry["cycle"],
        entry["slot"],
        entry["weeks"],
        Fraction(entry["epsilon"]),
        entry["attribute"],
        entry["name"],
        entry["time"],
    )
