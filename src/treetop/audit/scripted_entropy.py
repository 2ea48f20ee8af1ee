"""Randomness chosen by the auditor, to see what a sampler does with every possible byte."""

from collections.abc import Callable


class Exhausted(Exception):
    """The sampler wanted more bytes than the script has: it rejected what it was given."""


class ScriptedEntropy:
    """Hands out a script and says when it is at its end."""

    def __init__(self, script: bytes) -> None:
        self.script = script
        self.taken = 0

    def read(self, count: int) -> bytes:
        """Return the next bytes of the script."""
        if self.taken + count > len(self.script):
            raise Exhausted
        self.taken += count
        return self.script[self.taken - count : self.taken]


class CountingEntropy:
    """Passes randomness on and counts the bytes."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self.taken = 0

    def read(self, count: int) -> bytes:
        """Return what the source returns."""
        self.taken += count
        return self._read(count)


def word(number: int) -> bytes:
    """Return a 64-bit word as a sampler reads it."""
    return number.to_bytes(8, "big")
