"""One user's device and its party: checks, one report, the same bytes whenever it is sent again."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar, cast

from treetop.adapters.system.durable_file import DeviceState
from treetop.encoding.device_items import DeviceSet, device_code, set_entries
from treetop.encoding.item_codecs import ItemCodec
from treetop.errors import BudgetExceeded, NotMyWeek, QuestionRefused, ReportRefused, TreetopError
from treetop.federation.campaign import Campaign
from treetop.federation.device.device import Device, OwnItems
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.task import DeviceTask
from treetop.federation.task_codec import codec_of, needs_list, steps_of
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.signed_documents import Beacon
from treetop.federation.wire.uploads import Refusal, ReportStatus, Ticket, TicketedReport
from treetop.oracles.set_reports import USE_SHARES
from treetop.privacy.randomness import Entropy, uniform_below
from treetop.services.device.party_client import PartyClient

Found = TypeVar("Found")
MILLISECONDS = 1_000
"""In a second: delays are drawn in whole milliseconds, with the same integer generator as reports."""
POLL_SECONDS = 2.0
"""Between two questions whether the party is ready."""


class NotYet(Exception):
    """Something that the party has not published yet; the device may ask again."""


@dataclass
class TicketOutbox:
    """Sends one device's report, with its ticket, to its party."""

    client: PartyClient
    task: bytes
    ticket: Ticket
    verdict: ReportStatus | None = None

    def send(self, batch: bytes) -> None:
        """Return once the party has the report."""
        (self.verdict,) = self.client.submit(self.task, [TicketedReport(self.ticket.to_bytes(), batch)])
        if self.verdict.passing:
            raise NotYet(f"the party does not take reports yet ({self.verdict})")
        if not self.verdict.counts:
            raise ReportRefused("verdict of the party", "accepted", self.verdict)


@dataclass
class SingleDevice:
    """Run by the device: `items` are read once, after all randomness is drawn; bytes that are no text as surrogates."""

    client: PartyClient
    trusted: TrustedTask
    ticket: Ticket
    state: DeviceState
    items: Callable[[], Sequence[str]] = field(repr=False)
    """Its owner's items, one where tasks are about single items; where uses count, an item for every use."""
    entropy: Entropy
    say: Callable[[str], None]
    max_delay: int = 0
    """Seconds: a delay up to it is drawn, and waited for, before the value is read."""
    wait: bool = False
    holds_set: bool = False
    """Whether its owner holds a set, of any size: then it answers tasks about sets alone."""
    sleep: Callable[[float], None] = time.sleep
    _codec: ItemCodec | None = field(init=False, repr=False, default=None)

    @property
    def task(self) -> DeviceTask:
        """Return the task that is answered."""
        return self.trusted.task

    def run(self) -> ReportStatus | None:
        """Answer the task and deliver; return the verdict, or None if the party is not ready and `wait` is off."""
        device = Device(self._code, self.entropy, self.state.ledger)
        try:
            self._answer(device)
            return self._patiently(partial(self._deliver, device))
        except NotMyWeek as other:
            self._tell_refusal(Refusal(other.code))
            self.say(f"Nothing was read or sent: {other}.")
            return None
        except BudgetExceeded as exceeded:
            self._tell_refusal(Refusal(exceeded.code))
            raise
        except NotYet as reason:
            self.say(f"{reason}: run this again later, or with --wait.")
            return None

    def _answer(self, device: Device) -> None:
        entry = self.state.ledger.entry(self.task.digest)
        if entry is not None and entry.sent is not None:
            self.say("The report was made before; the same bytes are sent.")
            return
        campaign = None if entry is not None else self._campaign()
        if entry is None:
            self._check(device, campaign)
        self._prepare_codec()
        self._delay()
        if self.task.one_shot:
            if entry is None:
                self._check_ticket()
            device.answer_once(self.task, campaign)
        else:
            self._answer_list(device, campaign)
        self.say(f"One report was made, for epsilon {self.task.budget.text}, and written to the ledger.")

    def _code(self) -> int | OwnItems | None:
        asked = self.task.sets
        steps = steps_of(self.task)
        codec = cast(ItemCodec, self._codec)
        if asked is None:
            return device_code(codec, self.items()[0], steps)
        entries = set_entries(self.items(), steps, uses=asked.reading == USE_SHARES)
        return DeviceSet(codec, entries, asked.items_per_user)

    def _prepare_codec(self) -> None:
        if self._codec is None:
            self._codec = self._patiently(self._task_codec)

    def _task_codec(self) -> ItemCodec:
        """Return what makes the code of an item; over a catalogue only with the list that the signed task names."""
        if not needs_list(self.task):
            return codec_of(self.task)
        document = self.client.item_list(self.task.digest)
        if document is None:
            self._refuse_if_over()
            raise NotYet("The party does not have the task's list of items yet")
        return codec_of(self.task, ItemList.from_document(document, self.task.item_list).items)

    def _campaign(self) -> Campaign | None:
        """Return the campaign that the task is a week of, believed as the task was."""
        place = self.task.campaign
        if place is None:
            return None

        def document() -> bytes:
            found = self.client.campaign(place.campaign)
            if found is None:
                self._refuse_if_over()
                raise NotYet("The party does not have the task's campaign yet")
            return found

        return self.trusted.campaign(self._patiently(document))

    def _check(self, device: Device, campaign: Campaign | None) -> None:
        """Refuse on public grounds what must not or need not be answered, before anything but a week is drawn."""
        now = self.state.ledger.now
        if self.holds_set and self.task.sets is None:
            raise QuestionRefused("what the task asks about", "sets of items", "single items")
        self.trusted.check_time(now)
        if not self.task.one_shot and not self.state.enrolled(self.task.digest):
            self.trusted.check_enrolment_time(now)
        self.trusted.check_list_lengths(self.state.ledger.caps.least_slots)
        place = self.task.campaign
        if place is not None and self.state.ledger.slot(bytes.fromhex(place.campaign), place.cycle) is None:
            self._prepare_codec()  # the draw of a week pays for its cycle: all that the task needs must be there before
        device.check_allowed(self.task, campaign)

    def _check_ticket(self) -> None:
        """Refuse a ticket that the party will not take, before anything is spent on it; at the time of the report."""
        (verdict,) = self.client.check_tickets(self.task.digest, [self.ticket.to_bytes()])
        if verdict.passing:
            raise NotYet(f"The party does not take reports yet ({verdict})")
        if not verdict.counts:
            raise ReportRefused("ticket", "one that the party takes; nothing was spent", verdict)

    def _tell_refusal(self, code: Refusal) -> None:
        """Tell the party once that this device may not answer, and nothing but the code; it need not hear it."""
        if self.state.refused(self.task.digest):
            return
        self._delay()
        with suppress(TreetopError):
            (verdict,) = self.client.tell_refusals(self.task.digest, [(self.ticket.to_bytes(), code)])
            if verdict.counts:
                self.state.note(self.task.digest, self.task.name, "refused", code)

    def _delay(self) -> None:
        milliseconds = uniform_below(self.max_delay * MILLISECONDS + 1, self.entropy)
        if milliseconds:
            self.say(f"Waiting {milliseconds // MILLISECONDS} s, so that the time of sending says nothing.")
            self.sleep(milliseconds / MILLISECONDS)

    def _answer_list(self, device: Device, campaign: Campaign | None) -> None:
        self._enrol()
        beacon = self._patiently(self._beacon)
        enrolment = self.trusted.enrolment(self.ticket.serial, beacon)
        group = self.trusted.group(self.ticket.serial, beacon)
        self.say(f"This device answers at level {group.level} ({group.role.value}).")

        def document() -> bytes:
            found = self.client.candidate_list(self.task.digest, group)
            if found is None:
                self._refuse_if_over()
                raise NotYet("The candidates of this level are not published yet")
            return found

        listed = self.trusted.listed(self._patiently(document), group)
        device.answer(self.task, enrolment, listed.question, listed.published, campaign)

    def _enrol(self) -> None:
        if self.state.enrolled(self.task.digest):
            return
        (verdict,) = self.client.enrol(self.task.digest, [self.ticket.to_bytes()])
        if not verdict.counts:
            raise ReportRefused("enrolment", "accepted", verdict)
        self.state.note(self.task.digest, self.task.name, "enrolled", verdict)
        self.say("Enrolled.")

    def _beacon(self) -> Beacon:
        document = self.client.beacon(self.task.digest)
        if document is None:
            self._refuse_if_over()
            raise NotYet("Enrolment has not closed yet")
        return self.trusted.beacon(document)

    def _refuse_if_over(self) -> None:
        offered = [each for each in self.client.tasks() if each.digest == self.task.digest]
        if not any(each.open for each in offered):
            raise QuestionRefused("state of the task", "open", "closed")

    def _deliver(self, device: Device) -> ReportStatus:
        outbox = TicketOutbox(self.client, self.task.digest, self.ticket)
        device.deliver(self.task, outbox)
        verdict = outbox.verdict or ReportStatus.MALFORMED
        self.state.note(self.task.digest, self.task.name, "sent", verdict)
        had = " had it already" if verdict is ReportStatus.REPLAYED else " has it"
        self.say(f"Delivered: the party{had}.")
        return verdict

    def _patiently(self, step: Callable[[], Found]) -> Found:
        while True:
            try:
                return step()
            except NotYet:
                if not self.wait:
                    raise
                self.sleep(POLL_SECONDS)
