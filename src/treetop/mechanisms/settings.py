"""How a setting is read from text or a Python value, and how it is described."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from typing import Any

from treetop.errors import InvalidInput


@dataclass(frozen=True)
class Setting:
    """One named parameter that `--set` reaches."""

    symbol: str
    help: str
    expects: str
    read: Callable[[Any], Any]
    """Return the value, or raise ValueError or TypeError."""

    def parse(self, name: str, value: object) -> Any:
        """Return the setting's value, or say what was expected and what was found."""
        try:
            return self.read(value)
        except (TypeError, ValueError, OverflowError):
            raise InvalidInput(f"setting {name!r} expects {self.expects}, found {value!r}") from None


def setting(default: Any, symbol: str, help: str, reader: tuple[str, Callable[[Any], Any]]) -> Any:  # noqa: A002
    """Declare a dataclass field that is a setting."""
    return field(default=default, metadata={"setting": Setting(symbol, help, *reader)})


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


def whole_number(least: int, most: int) -> tuple[str, Callable[[Any], int]]:
    """Read an integer in a range."""

    def read(value: Any) -> int:
        _require(not isinstance(value, bool))
        number = int(value)
        _require((isinstance(value, str) or number == value) and least <= number <= most)
        return number

    return f"a whole number from {least} to {most}", read


def number(expects: str, accepts: Callable[[float], bool]) -> tuple[str, Callable[[Any], float]]:
    """Read a finite number that fulfils a condition."""

    def read(value: Any) -> float:
        _require(not isinstance(value, bool))
        found = float(value)
        _require(isfinite(found) and accepts(found))
        return found

    return expects, read


def choice(*names: str) -> tuple[str, Callable[[Any], str]]:
    """Read one of some names."""

    def read(value: Any) -> str:
        _require(value in names)
        return str(value)

    return "one of " + ", ".join(names), read


def yes_or_no() -> tuple[str, Callable[[Any], bool]]:
    """Read a truth value."""
    words = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

    def read(value: Any) -> bool:
        _require(str(value).lower() in words)
        return words[str(value).lower()]

    return "true or false", read


def text(expects: str) -> tuple[str, Callable[[Any], str]]:
    """Read a string that is not empty."""

    def read(value: Any) -> str:
        _require(isinstance(value, str) and bool(value))
        return str(value)

    return expects, read
