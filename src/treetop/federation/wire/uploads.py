"""Reports on their way to a party: each with its ticket, one or many in a request, a status for each.

A ticket is the right to answer a task once, which only a user's own party can write. An upload is a version byte, then
for each report: the ticket (24 bytes), the length of the batch (4 bytes, big-endian), and the batch of one that the
device's ledger holds (`report_batches`). Reports of different groups may travel together. The answer names one status
for each, in the same order.

A device that may not answer sends a code instead, which depends on public facts and its ledger. Its value has no part
in it: whether a device may answer is settled before the value is read. The same holds for the codes of refused
documents (`federation.documents`), which a party never receives. The bytes are a version, then for each device its
ticket (24 bytes) and the number of the code (1 byte).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest, digest

from treetop.errors import InvalidInput, PeerViolation
from treetop.wording import Note

SERIAL_BYTES = 8
MAC_BYTES = 16
TICKET_BYTES = SERIAL_BYTES + MAC_BYTES
MAX_TICKETS = 1 << 40
"""Serial numbers run from 0 upwards in every task."""
_TICKET_DOMAIN = b"treetop ticket 1\0"


@dataclass(frozen=True)
class Ticket:
    """A running number and the party's mark on it; worth one report of one task."""

    serial: int
    mac: bytes = field(repr=False)

    def to_bytes(self) -> bytes:
        """Return the 24 bytes that a device keeps and presents."""
        return self.serial.to_bytes(SERIAL_BYTES, "big") + self.mac

    @property
    def text(self) -> str:
        """Return the 48 hexadecimal digits that people and files pass on."""
        return self.to_bytes().hex()

    @classmethod
    def from_bytes(cls, data: bytes) -> "Ticket":
        """Read a ticket; whether it is authentic only its party can tell."""
        if len(data) != TICKET_BYTES:
            raise InvalidInput("ticket_length", ticket_bytes=TICKET_BYTES, number=len(data))
        return cls(int.from_bytes(data[:SERIAL_BYTES], "big"), data[SERIAL_BYTES:])


class TicketKey:
    """Run by the party: writes tickets and knows its own again."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < 32:
            raise InvalidInput("ticket_secret_short", number=len(secret))
        self._secret = sha256(_TICKET_DOMAIN + secret).digest()

    def __repr__(self) -> str:
        return "TicketKey(redacted)"

    def write(self, task: bytes, serial: int) -> Ticket:
        """Return the ticket of that number for a task."""
        return Ticket(serial, self._mac(task, serial.to_bytes(SERIAL_BYTES, "big")))

    def wrote(self, task: bytes, ticket: bytes) -> bool:
        """Return whether 24 bytes are a ticket of this party for this task, in constant time."""
        return compare_digest(self._mac(task, ticket[:SERIAL_BYTES]), ticket[SERIAL_BYTES:])

    def _mac(self, task: bytes, serial: bytes) -> bytes:
        return digest(self._secret, task + serial, "sha256")[:MAC_BYTES]


UPLOAD_VERSION = 1
MAX_ENTRIES = 10_000
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

    ticket: bytes = field(repr=False)
    batch: bytes


def encoded_upload(entries: Iterable[TicketedReport]) -> bytes:
    """Run by the device, or by a fleet: write an upload."""
    parts = [bytes([UPLOAD_VERSION])]
    for entry in entries:
        parts += (entry.ticket, len(entry.batch).to_bytes(LENGTH_BYTES, "big"), entry.batch)
    return b"".join(parts)


def decoded_upload(data: bytes, most: int = MAX_ENTRIES) -> Sequence[TicketedReport]:
    """Run by the party: cut an upload apart, or refuse all of it."""
    if data[:1] != bytes([UPLOAD_VERSION]):
        raise PeerViolation("version of an upload", UPLOAD_VERSION, data[0] if data else "nothing")
    entries: list[TicketedReport] = []
    index = 1
    head = TICKET_BYTES + LENGTH_BYTES
    while index < len(data):
        length = int.from_bytes(data[index + TICKET_BYTES : index + head], "big")
        end = index + head + length
        if end > len(data) or index + head > len(data):
            raise PeerViolation("bytes of an upload", end, len(data))
        entries.append(TicketedReport(data[index : index + TICKET_BYTES], data[index + head : end]))
        index = end
    if not 1 <= len(entries) <= most:
        raise PeerViolation("reports of an upload", f"from 1 to {most}", len(entries))
    return entries


_REFUSALS_VERSION = 1
_REFUSAL_BYTES = TICKET_BYTES + 1


class Refusal(StrEnum):
    """Why a device may not answer."""

    NOT_MY_WEEK = "not_my_week"
    """It answers this campaign in another week of the cycle, or has."""
    BUDGET_WINDOW = "budget_window"
    BUDGET_LIFETIME = "budget_lifetime"
    BUDGET_TASK = "budget_task"
    """The task costs more than the device's owner allows for one."""

    def note(self, devices: int) -> Note:
        """Return for how many devices it holds."""
        return Note(f"refused_{self.value}", devices=devices)


_CODES = tuple(Refusal)


def encoded_refusals(refusals: Iterable[tuple[bytes, Refusal]]) -> bytes:
    """Run by the device, or by a fleet: write tickets and codes."""
    return bytes([_REFUSALS_VERSION]) + b"".join(ticket + bytes([_CODES.index(code)]) for ticket, code in refusals)


def decoded_refusals(data: bytes) -> list[tuple[bytes, Refusal]]:
    """Run by the party: cut them apart, or refuse all of it."""
    if data[:1] != bytes([_REFUSALS_VERSION]):
        raise PeerViolation("version of refusals", _REFUSALS_VERSION, data[0] if data else "nothing")
    count = (len(data) - 1) // _REFUSAL_BYTES
    if len(data) != 1 + count * _REFUSAL_BYTES or not 1 <= count <= MAX_ENTRIES:
        raise PeerViolation("bytes of refusals", f"{_REFUSAL_BYTES} for each of 1 to {MAX_ENTRIES}", len(data) - 1)
    entries = [data[start : start + _REFUSAL_BYTES] for start in range(1, len(data), _REFUSAL_BYTES)]
    if (largest := max(entry[-1] for entry in entries)) >= len(_CODES):
        raise PeerViolation("code of a refusal", f"below {len(_CODES)}", largest)
    return [(entry[:TICKET_BYTES], _CODES[entry[-1]]) for entry in entries]
