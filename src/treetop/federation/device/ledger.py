"""What a device has answered, written down before anything is sent.

One entry for each task: first its group and its cost, then the bytes of its report, then that they arrived. A task
that is asked about again gets the same bytes. Every write raises a counter, which a second place remembers, so
that an older ledger put back in its place is noticed.
"""

import json
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any

from treetop.errors import BudgetExceeded, LedgerRefused, PromiseBroken, QuestionRefused
from treetop.federation.device.attributes import normalised
from treetop.federation.device.list_checks import LEAST_SLOTS
from treetop.federation.ports import CounterStore, LedgerStore
from treetop.trie.user_groups import Group, Role

_VERSION = 1


@dataclass(frozen=True)
class Caps:
    """What a device's owner allows; a day, a restart, a new task, name or key renews none of it."""

    per_task: Fraction = Fraction(4)
    lifetime: Fraction = Fraction(8)
    """For all tasks together, whatever they ask about."""
    attribute: str | None = None
    """What the device's item is; None takes the word of the first task that it answers."""
    least_slots: int = LEAST_SLOTS
    """The shortest candidate list that is answered, the dummy counted (rounds)."""


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


class Ledger:
    """Run by the device: the only way to a report."""

    def __init__(self, store: LedgerStore, counter: CounterStore, caps: Caps | None = None) -> None:
        self._store, self._counter_store = store, counter
        self.caps = caps or Caps()
        self._counter, self._entries = _read(store.load())
        remembered = counter.read()
        if self._counter < remembered:
            raise LedgerRefused("counter", f"{remembered} at least", str(self._counter))
        if self._counter > remembered:  # a crash came between the two writes
            counter.advance(self._counter)

    def entry(self, task: bytes) -> LedgerEntry | None:
        """Return what is known of a task."""
        return self._entries.get(task)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Return all of them, oldest first."""
        return tuple(self._entries.values())

    def undelivered(self) -> list[LedgerEntry]:
        """Return the reports that were made and may not have arrived."""
        return [entry for entry in self._entries.values() if entry.sent is not None and not entry.delivered]

    @property
    def spent(self) -> Fraction:
        """Return the exact sum of all budgets promised to tasks."""
        return sum((entry.epsilon for entry in self._entries.values()), start=Fraction(0))

    @property
    def attribute(self) -> str | None:
        """Return what alone this device is asked about: its owner's word, or the first task's; None before that."""
        if self.caps.attribute is not None:
            return self.caps.attribute
        return next((entry.attribute for entry in self._entries.values()), None)

    def check_allowed(self, attribute: str, epsilon: Fraction) -> None:
        """Refuse a task about something else, or one that would cost more than the owner allows."""
        own = self.attribute
        if own is not None and normalised(attribute) != normalised(own):
            raise QuestionRefused("attribute of the task", repr(own), repr(attribute))
        if epsilon > self.caps.per_task:
            raise BudgetExceeded("task", str(self.caps.per_task), str(epsilon))
        total = self.spent + epsilon
        if total > self.caps.lifetime:
            raise BudgetExceeded("lifetime", str(self.caps.lifetime), str(total))

    def reserve(self, entry: LedgerEntry) -> None:
        """Charge for a task and fix its group and domain, before the value is read."""
        if entry.task in self._entries:
            raise PromiseBroken("this task has an entry already")
        self.check_allowed(entry.attribute, entry.epsilon)
        self._write(entry)

    def settle(self, task: bytes, sent: bytes) -> LedgerEntry:
        """Fix the bytes of a task's report, before they are sent."""
        entry = self._entries[task]
        if entry.sent is not None:
            raise PromiseBroken("this task has a report already")
        settled = replace(entry, sent=sent)
        self._write(settled)
        return settled

    def mark_delivered(self, task: bytes) -> None:
        """Note that the party has the report; it will not be sent again by itself."""
        if not self._entries[task].delivered:
            self._write(replace(self._entries[task], delivered=True))

    def _write(self, entry: LedgerEntry) -> None:
        entries = {**self._entries, entry.task: entry}
        self._store.replace(_written(self._counter + 1, entries))
        self._entries = entries
        self._counter += 1
        self._counter_store.advance(self._counter)


def _written(counter: int, entries: dict[bytes, LedgerEntry]) -> bytes:
    content = {"version": _VERSION, "counter": counter, "entries": [_as_json(entry) for entry in entries.values()]}
    text = json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")
    return text + b"\n" + sha256(text).hexdigest().encode("ascii") + b"\n"


def _as_json(entry: LedgerEntry) -> dict[str, object]:
    return {
        "task": entry.task.hex(), "attribute": entry.attribute, "group": [entry.group.level, entry.group.role.value],
        "domain": entry.domain.hex(), "epsilon": str(entry.epsilon),
        "sent": entry.sent and entry.sent.hex(), "delivered": entry.delivered,
    }  # fmt: skip


def _read(data: bytes | None) -> tuple[int, dict[bytes, LedgerEntry]]:
    if data is None:
        return 0, {}
    text, _, rest = data.partition(b"\n")
    if rest != sha256(text).hexdigest().encode("ascii") + b"\n":
        raise LedgerRefused("checksum", "that of its content", "another: the file is damaged")
    try:
        return _from_content(json.loads(text))
    except (ValueError, TypeError, KeyError) as error:
        raise LedgerRefused("content", "what a ledger writes", type(error).__name__) from None


def _from_content(content: dict[str, Any]) -> tuple[int, dict[bytes, LedgerEntry]]:
    if content["version"] != _VERSION:
        raise LedgerRefused("version", str(_VERSION), str(content["version"]))
    entries = [_from_json(entry) for entry in content["entries"]]
    return content["counter"], {entry.task: entry for entry in entries}


def _from_json(entry: dict[str, Any]) -> LedgerEntry:
    level, role = entry["group"]
    sent = entry["sent"]
    return LedgerEntry(
        task=bytes.fromhex(entry["task"]), attribute=entry["attribute"], group=Group(level, Role(role)),
        domain=bytes.fromhex(entry["domain"]), epsilon=Fraction(entry["epsilon"]),
        sent=None if sent is None else bytes.fromhex(sent), delivered=entry["delivered"],
    )  # fmt: skip
