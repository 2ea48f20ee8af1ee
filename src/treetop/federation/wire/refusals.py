"""What a device tells its party when it may not answer a task: a code, which depends on public facts and its ledger.

Its value has no part in it: whether a device may answer is settled before the value is read. The same holds for the
codes of refused documents (`federation.documents`), which a party is not told at all. The bytes are a version,
then for each device its ticket (24 bytes) and the number of the code (1 byte).
"""

from collections.abc import Iterable
from enum import StrEnum

from treetop.errors import PeerViolation
from treetop.federation.wire.uploads import MAX_ENTRIES, TICKET_BYTES
from treetop.wording import Note

_VERSION = 1
_ENTRY_BYTES = TICKET_BYTES + 1


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
    """Run by the device, or by whoever plays many: tickets and codes."""
    return bytes([_VERSION]) + b"".join(ticket + bytes([_CODES.index(code)]) for ticket, code in refusals)


def decoded_refusals(data: bytes) -> list[tuple[bytes, Refusal]]:
    """Run by the party: cut them apart, or refuse all of it."""
    if data[:1] != bytes([_VERSION]):
        raise PeerViolation("version of refusals", _VERSION, data[0] if data else "nothing")
    count = (len(data) - 1) // _ENTRY_BYTES
    if len(data) != 1 + count * _ENTRY_BYTES or not 1 <= count <= MAX_ENTRIES:
        raise PeerViolation("bytes of refusals", f"{_ENTRY_BYTES} for each of 1 to {MAX_ENTRIES}", len(data) - 1)
    entries = [data[start : start + _ENTRY_BYTES] for start in range(1, len(data), _ENTRY_BYTES)]
    if (largest := max(entry[-1] for entry in entries)) >= len(_CODES):
        raise PeerViolation("code of a refusal", f"below {len(_CODES)}", largest)
    return [(entry[:TICKET_BYTES], _CODES[entry[-1]]) for entry in entries]
