"""The one thing that never leaves a device."""

from typing import NoReturn

from treetop.errors import PromiseBroken


class PrivateValue:
    """A code, or None for an item without one; it shows, compares and stores as nothing."""

    __slots__ = ("_code",)

    def __init__(self, code: int | None, bits: int) -> None:
        self._code = code if code is not None and 0 <= code < 1 << bits else None

    def __repr__(self) -> str:
        return "PrivateValue(redacted)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise PromiseBroken("a private value cannot be serialised or copied")

    def prefix(self, bits: int, length: int) -> int | None:
        """Run by the device, after all randomness is drawn: the first bits, or None without a code."""
        return None if self._code is None else self._code >> (bits - length)
