"""What a device has answered, written down before anything is sent.

One entry for each task: first its group and its cost, then the bytes of its report, then that they arrived. A task
that is asked about again gets the same bytes. One slot for each cycle of a campaign: the week that was drawn, and the
cost of the cycle. Every write raises a counter, which a second store remembers, so that an older ledger put back is
noticed.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from typing import Any

from treetop.errors import BudgetExceeded, LedgerRefused, PromiseBroken, QuestionRefused
from treetop.federation.campaign import DAY, Campaign
from treetop.federation.device.attributes import normalised
from treetop.federation.device.list_checks import MIN_SLOTS
from treetop.federation.ports import Clock, CounterStore, LedgerStore
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


@dataclass(frozen=True)
class Caps:
    """What a device's owner allows; a day, a restart, a new task, name or key renews none of it but the window."""

    per_task: Fraction = Fraction(4)
    lifetime: Fraction = Fraction(8)
    """For all tasks and campaigns together, about any attribute."""
    attribute: str | None = None
    """What the device's item is; None takes the word of the first task that it answers."""
    least_slots: int = MIN_SLOTS
    """The shortest candidate list that is answered, the dummy counted (rounds)."""
    window: Fraction = Fraction(4)
    """For all tasks answered and all cycles begun within a window."""
    window_seconds: int = 84 * DAY


class Ledger:
    """Run by the device: the only way to a report. Without a clock time stands still: no window is ever renewed."""

    def __init__(
        self, store: LedgerStore, counter: CounterStore, caps: Caps | None = None, clock: Clock | None = None
    ) -> None:
        self._store = store
        self._counter_store = counter
        self._clock = clock
        self.caps = caps or Caps()
        found = LedgerContent.read(store.load())
        self._counter = found.counter
        self._entries = {entry.task: entry for entry in found.entries}
        self._slots = {(slot.campaign, slot.cycle): slot for slot in found.slots}
        remembered = counter.read()
        if self._counter < remembered:
            raise LedgerRefused("counter", f"{remembered} at least", str(self._counter))
        if self._counter > remembered:  # a crash came between the two writes
            counter.advance(self._counter)

    @property
    def now(self) -> int:
        """Return the clock's time, but none before the newest entry: a clock that is set back renews nothing."""
        return max([0 if self._clock is None else self._clock.now(), *(charge.time for charge in self.charges)])

    def entry(self, task: bytes) -> LedgerEntry | None:
        """Return what is known of a task."""
        return self._entries.get(task)

    @property
    def entries(self) -> tuple[LedgerEntry, ...]:
        """Return all of them, oldest first."""
        return tuple(self._entries.values())

    def slot(self, campaign: bytes, cycle: int) -> CycleSlot | None:
        """Return the week that was drawn for a cycle of a campaign."""
        return self._slots.get((campaign, cycle))

    @property
    def slots(self) -> tuple[CycleSlot, ...]:
        """Return all weeks that were drawn, oldest first."""
        return tuple(self._slots.values())

    def undelivered(self) -> list[LedgerEntry]:
        """Return the reports that were made and may not have arrived."""
        return [entry for entry in self._entries.values() if entry.sent is not None and not entry.delivered]

    @property
    def charges(self) -> list[LedgerEntry | CycleSlot]:
        """Return all that was paid for: tasks outside campaigns, and cycles, whether their week was met or missed."""
        alone = [entry for entry in self._entries.values() if entry.cycle is None]
        return [*alone, *self._slots.values()]

    @property
    def spent(self) -> Fraction:
        """Return the exact sum of all budgets promised to tasks and cycles."""
        return _total(self.charges)

    @property
    def in_window(self) -> list[LedgerEntry | CycleSlot]:
        """Return what counts in the window that ends now, in the order in which it will be renewed."""
        begin = self.now - self.caps.window_seconds
        return sorted((charge for charge in self.charges if charge.time > begin), key=lambda charge: charge.time)

    @property
    def attribute(self) -> str | None:
        """Return what alone this device is asked about: its owner's word, or the first task's; None before that."""
        if self.caps.attribute is not None:
            return self.caps.attribute
        charges = self.charges
        return min(charges, key=lambda charge: charge.time).attribute if charges else None

    def check_allowed(self, attribute: str, epsilon: Fraction) -> None:
        """Refuse a task about something else, or one that would cost more than the owner allows."""
        self._check_attribute(attribute)
        if epsilon > self.caps.per_task:
            raise BudgetExceeded("task", str(self.caps.per_task), str(epsilon))
        if (total := self.spent + epsilon) > self.caps.lifetime:
            raise BudgetExceeded("lifetime", str(self.caps.lifetime), str(total))
        if (total := _total(self.in_window) + epsilon) > self.caps.window:
            raise BudgetExceeded("window", str(self.caps.window), str(total))

    def check_campaign(self, campaign: Campaign) -> None:
        """Refuse a campaign that goes by the name of another one which costs something else."""
        for slot in self._slots.values():
            expected = (slot.epsilon, slot.weeks)
            found = (campaign.budget.amount, campaign.weeks)
            if normalised(slot.name) == normalised(campaign.name) and found != expected:
                raise QuestionRefused(
                    f"campaign {campaign.name!r}", _terms(*expected) + ", as it was known here", _terms(*found)
                )

    def take_slot(self, slot: CycleSlot) -> CycleSlot:
        """Charge for a cycle and fix its week, before any value is read; it is never drawn again."""
        if (slot.campaign, slot.cycle) in self._slots:
            raise PromiseBroken("cycle_has_week")
        self.check_allowed(slot.attribute, slot.epsilon)
        taken = replace(slot, time=self.now)
        self._write(taken)
        return taken

    def reserve(self, entry: LedgerEntry) -> LedgerEntry:
        """Charge for a task and fix its group and domain, before the value is read; a cycle has paid already."""
        if entry.task in self._entries:
            raise PromiseBroken("task_has_entry")
        if entry.cycle is None:
            self.check_allowed(entry.attribute, entry.epsilon)
        else:
            self._check_attribute(entry.attribute)
            self._check_cycle(entry.cycle, entry.epsilon)
        timed = replace(entry, time=self.now)
        self._write(timed)
        return timed

    def settle(self, task: bytes, sent: bytes) -> LedgerEntry:
        """Fix the bytes of a task's report, before they are sent."""
        entry = self._entries[task]
        if entry.sent is not None:
            raise PromiseBroken("task_has_report")
        settled = replace(entry, sent=sent)
        self._write(settled)
        return settled

    def mark_delivered(self, task: bytes) -> None:
        """Note that the party has the report; a restart will not send it again."""
        if not self._entries[task].delivered:
            self._write(replace(self._entries[task], delivered=True))

    def _check_attribute(self, attribute: str) -> None:
        own = self.attribute
        if own is not None and normalised(attribute) != normalised(own):
            raise QuestionRefused("attribute of the task", repr(own), repr(attribute))

    def _check_cycle(self, cycle: Cycle, epsilon: Fraction) -> None:
        slot = self._slots.get(cycle)
        if slot is None or slot.epsilon != epsilon:
            raise PromiseBroken("cycle_without_week")
        if any(entry.cycle == cycle for entry in self._entries.values()):
            raise PromiseBroken("cycle_answered")

    def _write(self, changed: LedgerEntry | CycleSlot) -> None:
        entries = dict(self._entries)
        slots = dict(self._slots)
        if isinstance(changed, CycleSlot):
            slots[changed.campaign, changed.cycle] = changed
        else:
            entries[changed.task] = changed
        self._store.replace(LedgerContent(self._counter + 1, tuple(entries.values()), tuple(slots.values())).written())
        self._entries = entries
        self._slots = slots
        self._counter += 1
        self._counter_store.advance(self._counter)


def _total(charges: Iterable[LedgerEntry | CycleSlot]) -> Fraction:
    return sum((charge.epsilon for charge in charges), start=Fraction(0))


def _terms(epsilon: Fraction, weeks: int) -> str:
    return f"epsilon {epsilon} in {weeks} weeks"
