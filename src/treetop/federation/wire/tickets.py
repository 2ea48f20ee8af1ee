"""Tickets: the right to answer a task once, which only a user's own party can write."""

from dataclasses import dataclass, field
from hashlib import sha256
from hmac import compare_digest, digest

from treetop.errors import InvalidInput

SERIAL_BYTES, MAC_BYTES = 8, 16
TICKET_BYTES = SERIAL_BYTES + MAC_BYTES
MOST_TICKETS = 1 << 40
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
            raise InvalidInput(f"a ticket is {TICKET_BYTES} bytes, found {len(data)}")
        return cls(int.from_bytes(data[:SERIAL_BYTES], "big"), data[SERIAL_BYTES:])


class TicketKey:
    """Run by the party: writes tickets and knows its own again."""

    def __init__(self, secret: bytes) -> None:
        if len(secret) < 32:
            raise InvalidInput(f"the secret of tickets must be 32 bytes at least, found {len(secret)}")
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
