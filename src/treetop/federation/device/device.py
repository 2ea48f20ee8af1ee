"""The device's role: one private value or set of them, one perturbed report for each task.

The order is the promise: the question is checked on public data, the group and the cost are written to the ledger,
all randomness is drawn, the value is read last, the report is written to the ledger, and only then sent. The week in
which a campaign is answered is drawn and written with its cost when the campaign's cycle is first seen. No variable
holds the value, its key or its slot: a traceback with variables would show it.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from treetop.errors import NotMyWeek, PromiseBroken, QuestionRefused, ValueUnavailable
from treetop.federation.campaign import Campaign
from treetop.federation.device.group_assignment import Enrolment, assigned_group, drawn_group, drawn_week
from treetop.federation.device.ledger import CycleSlot, Ledger, LedgerEntry
from treetop.federation.device.list_checks import check_question
from treetop.federation.device.private_value import PrivateSet, PrivateValue
from treetop.federation.ports import Outbox
from treetop.federation.task import DeviceTask
from treetop.federation.wire.report_batches import NO_DOMAIN, Envelope, encoded_batch
from treetop.federation.wire.signed_documents import Publication, Question
from treetop.oracles.protocol import DeviceFace, Draw, Oracle
from treetop.oracles.registry import task_oracles
from treetop.privacy.randomness import Entropy
from treetop.trie.user_groups import Group

OwnItems = Mapping[bytes, int | None]
"""A device's set: its items as bytes, each with its code or None."""
ValueSource = Callable[[], int | OwnItems | None]
"""Reads the device's own code, or None for an item without one; for a task about sets, the items with their codes.
Called once, after all randomness is drawn."""


class Device:
    """One user's device; it has no seed."""

    def __init__(self, value: ValueSource, entropy: Entropy, ledger: Ledger) -> None:
        self._value = value
        self._entropy = entropy
        self._ledger = ledger

    def check_allowed(self, task: DeviceTask, campaign: Campaign | None = None) -> None:
        """Refuse a task that costs more than the owner allows, or of another week than the device's own.

        On first sight of a campaign's cycle its week is drawn and written down, whichever week is asked about.
        """
        if task.campaign is None:
            self._ledger.check_allowed(task.attribute, task.budget.amount)
            return
        if campaign is None:
            raise QuestionRefused("campaign of the task", task.campaign.campaign, "none")
        week = campaign.check_task(task)
        self._ledger.check_campaign(campaign)
        own = self._ledger.slot(campaign.digest, week.cycle) or self._drawn_slot(campaign, week.cycle)
        if week.week != own.slot:
            raise NotMyWeek("week of the task", f"{own.slot}, which this device drew, from 0 on", week.week)

    def answer_once(self, task: DeviceTask, campaign: Campaign | None = None) -> bytes:
        """Return the one report of a one-shot task, at a level of the device's own drawing."""
        if not task.one_shot:
            raise QuestionRefused("mode of the task", "one-shot", "rounds: it needs a candidate list")
        entry = self._ledger.entry(task.digest) or self._reserve(task, self._drawn_group(task, campaign), NO_DOMAIN)
        return entry.sent or self._settle_hashed(task, entry)

    def answer(
        self,
        task: DeviceTask,
        enrolment: Enrolment,
        question: Question,
        published: Publication,
        campaign: Campaign | None = None,
    ) -> bytes:
        """Return the one report of a task in rounds, or refuse the question."""
        check_question(task, assigned_group(task, enrolment), question, published, self._ledger.caps.least_slots)
        entry = self._ledger.entry(task.digest)
        if entry is None:
            self.check_allowed(task, campaign)
            entry = self._reserve(task, question.group, question.digest)
        if entry.domain != question.digest:
            raise PromiseBroken("answered_another_list")
        return entry.sent or self._settle_slot(task, entry, question)

    def deliver(self, task: DeviceTask, outbox: Outbox) -> None:
        """Send the report of a task, which must have been answered, and note that it arrived."""
        entry = self._ledger.entry(task.digest)
        if entry is None or entry.sent is None:
            raise PromiseBroken("no_report_to_send")
        outbox.send(entry.sent)
        self._ledger.mark_delivered(entry.task)

    def resume(self, outbox: Outbox) -> None:
        """Send again, after a restart, the reports that may not have arrived: the same bytes."""
        for entry in self._ledger.undelivered():
            outbox.send(entry.sent or b"")
            self._ledger.mark_delivered(entry.task)

    def _drawn_group(self, task: DeviceTask, campaign: Campaign | None) -> Group:
        self.check_allowed(task, campaign)
        return drawn_group(task, self._entropy)

    def _drawn_slot(self, campaign: Campaign, cycle: int) -> CycleSlot:
        epsilon = campaign.budget.amount
        attribute = campaign.attribute
        self._ledger.check_allowed(attribute, epsilon)
        week = drawn_week(campaign, self._entropy)
        slot = CycleSlot(campaign.digest, cycle, week, campaign.weeks, epsilon, attribute, campaign.name)
        return self._ledger.take_slot(slot)

    def _reserve(self, task: DeviceTask, group: Group, domain: bytes) -> LedgerEntry:
        week = task.campaign
        cycle = None if week is None else (bytes.fromhex(week.campaign), week.cycle)
        return self._ledger.reserve(
            LedgerEntry(task.digest, task.attribute, group, domain, task.budget.amount, cycle=cycle)
        )

    def _settle_hashed(self, task: DeviceTask, entry: LedgerEntry) -> bytes:
        """Answer without a list: the key of the first bits, of the name or of a chunk behind it is hashed.

        Of a set, those of the items that the drawn key chooses: which they are is kept nowhere.
        """
        (oracle,) = task_oracles(task.oracle)
        face = task.unlisted_face
        draw = face.draw(self._entropy)
        if task.sets is None:
            report = draw.report(self._read_value(task).key(task, entry.group.level))
        else:
            report = self._report_of_set(draw, task, entry.group.level)
        return self._settle(task, entry, oracle, face, report)

    def _report_of_set(self, draw: Draw, task: DeviceTask, level: int) -> Any:
        try:
            return draw.report(PrivateSet(cast(OwnItems, self._value()), task, level))
        except Exception:  # as for one value: codes are looked up while the report is made
            raise ValueUnavailable("items_unavailable") from None

    def _settle_slot(self, task: DeviceTask, entry: LedgerEntry, question: Question) -> bytes:
        """Answer a list: the slot of the first bits, or the dummy's."""
        oracle = task.oracle_for(question.slots)
        face = task.face_for(question.slots)
        draw = face.draw(self._entropy)
        report = draw.report(question.slot_of(self._read_value(task).prefix(task.bits, question.length)))
        return self._settle(task, entry, oracle, face, report)

    def _read_value(self, task: DeviceTask) -> PrivateValue:
        try:
            return PrivateValue(cast("int | None", self._value()), task.bits)
        except Exception:  # its message and traceback may show the value
            raise ValueUnavailable("value_unavailable") from None

    def _settle(self, task: DeviceTask, entry: LedgerEntry, oracle: Oracle, face: DeviceFace, report: Any) -> bytes:
        envelope = Envelope(task.digest, entry.group, entry.domain, oracle, face.slots)
        batch = encoded_batch(envelope, [report])
        self._ledger.settle(task.digest, batch)
        return batch
