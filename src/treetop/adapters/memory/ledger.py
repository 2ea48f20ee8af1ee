"""A ledger that lasts as long as the process."""


class MemoryLedger:
    """The ledger of a simulated device."""

    def __init__(self, ledger: bytes | None = None) -> None:
        self.ledger = ledger

    def load(self) -> bytes | None:
        """Return what was last stored, or None on a new device."""
        return self.ledger

    def replace(self, ledger: bytes) -> None:
        """Store all of it."""
        self.ledger = ledger


class MemoryCounter:
    """The remembered counter of a simulated device."""

    def __init__(self, counter: int = 0) -> None:
        self.counter = counter

    def read(self) -> int:
        """Return the highest number stored."""
        return self.counter

    def advance(self, counter: int) -> None:
        """Store a higher number."""
        self.counter = counter
