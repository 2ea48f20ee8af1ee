"""What a device needs from the machine it runs on, and both ends of a signature."""

from typing import Protocol


class Clock(Protocol):
    """What a deadline is compared with."""

    def now(self) -> int:
        """Return whole seconds since 1970; it may jump."""
        ...


class LedgerStore(Protocol):
    """The one place where a device's ledger lies."""

    def load(self) -> bytes | None:
        """Return what was last stored, or None on a new device."""
        ...

    def replace(self, ledger: bytes) -> None:
        """Store all of it or nothing; once this returns it outlasts a power cut."""
        ...


class CounterStore(Protocol):
    """A second place, which remembers how often the ledger was written."""

    def read(self) -> int:
        """Return the highest number stored, 0 on a new device."""
        ...

    def advance(self, counter: int) -> None:
        """Store a higher number; once this returns it outlasts a power cut."""
        ...


class Outbox(Protocol):
    """The way to the party."""

    def send(self, batch: bytes) -> None:
        """Return once the party has acknowledged the batch; sending it again does no harm."""
        ...


class Signer(Protocol):
    """The server's private key."""

    def sign(self, message: bytes) -> bytes:
        """Return the Ed25519 signature of a message, 64 bytes."""
        ...


class Verifier(Protocol):
    """The server's public key, or keys while they are rotated, as a device or a party has pinned them."""

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Return whether one of the pinned keys signed the message."""
        ...
