"""Reports on their way to a party: each with its ticket, one or many in a request, a verdict for each.

An upload is a version byte, then for each report: the ticket (24 bytes), the length of the batch (4 bytes,
big-endian), and the batch of one that the device's ledger holds (`wire_format`). Reports of different groups may travel
together. The answer names one verdict for each, in the same order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from treetop.errors import PeerViolation
from treetop.federation.wire.tickets import TICKET_BYTES

UPLOAD_VERSION = 1
MOST_ENTRIES = 10_000
LENGTH_BYTES = 4


class ReportStatus(StrEnum):
    """What became of one report or enrolment; only the first two mean that it counts."""

    ACCEPTED = "accepted"
    REPLAYED = "replayed"
    """It was here before, the same bytes: it counts once."""
    MALFORMED = "malformed"
    UNKNOWN_TASK = "unknown_task"
    TICKET_FORGED = "ticket_forged"
    TICKET_SPENT = "ticket_spent"
    """Another report came with this ticket."""
    WRONG_GROUP = "wrong_group"
    WRONG_LIST = "wrong_list"
    NOT_ENROLLED = "not_enrolled"
    TOO_EARLY = "too_early"
    TOO_LATE = "too_late"
    LEVEL_NOT_OPEN = "level_not_open"
    LEVEL_CLOSED = "level_closed"
    ENROLMENT_CLOSED = "enrolment_closed"

    @property
    def counts(self) -> bool:
        """Return whether the party has the report: the device may mark it delivered."""
        return self in {ReportStatus.ACCEPTED, ReportStatus.REPLAYED}

    @property
    def passing(self) -> bool:
        """Return whether the same bytes may be taken later."""
        return self in {ReportStatus.TOO_EARLY, ReportStatus.LEVEL_NOT_OPEN}


@dataclass(frozen=True, slots=True)
class TicketedReport:
    """One report with its ticket, as bytes that nobody has checked."""

    ticket: bytes
    batch: bytes


def encoded_upload(entries: Iterable[TicketedReport]) -> bytes:
    """Run by the device, or by whoever gathers reports."""
    parts = [bytes([UPLOAD_VERSION])]
    for entry in entries:
        parts += (entry.ticket, len(entry.batch).to_bytes(LENGTH_BYTES, "big"), entry.batch)
    return b"".join(parts)


def decoded_upload(data: bytes, most: int = MOST_ENTRIES) -> Sequence[TicketedReport]:
    """Run by the party: cut an upload apart, or refuse all of it."""
    if data[:1] != bytes([UPLOAD_VERSION]):
        raise PeerViolation("version of an upload", UPLOAD_VERSION, data[0] if data else "nothing")
    entries: list[TicketedReport] = []
    place, head = 1, TICKET_BYTES + LENGTH_BYTES
    while place < len(data):
        length = int.from_bytes(data[place + TICKET_BYTES : place + head], "big")
        end = place + head + length
        if end > len(data) or place + head > len(data):
            raise PeerViolation("bytes of an upload", end, len(data))
        entries.append(TicketedReport(data[place : place + TICKET_BYTES], data[place + head : end]))
        place = end
    if not 1 <= len(entries) <= most:
        raise PeerViolation("reports of an upload", f"from 1 to {most}", len(entries))
    return entries
