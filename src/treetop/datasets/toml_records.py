"""TOML tables as frozen values: every key is known and of the right kind, or the file is refused."""

import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from treetop.errors import InvalidInput, UnknownName

Record = TypeVar("Record")

PLAIN = (bool, int, float, str, object)


def read_record(path: Path, kind: type[Record]) -> Record:
    """Read a TOML file into a frozen value."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise InvalidInput(f"{path}: expected a TOML file, found nothing that reads as one") from None
    return record_from_text(text, kind, str(path))


def record_from_text(text: str, kind: type[Record], where: str) -> Record:
    """Read TOML text into a frozen value; `where` is named in refusals."""
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as reason:
        raise InvalidInput(f"{where}: does not read as TOML: {reason}") from None
    return record_of(table, kind, where)


def record_of(table: Mapping[str, Any], kind: type[Record], where: str) -> Record:
    """Build a dataclass from a table, and refuse unknown, missing and mistyped keys."""
    known = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for key in table:
        if key not in known:
            raise UnknownName(f"{where}: key", key, known)
    for name, field in known.items():
        if name not in table and field.default is MISSING and field.default_factory is MISSING:
            raise InvalidInput(f"{where}: expected the key {name!r}, found none")
    hints = get_type_hints(kind)
    return kind(**{name: _value(value, hints[name], f"{where}: {name}") for name, value in table.items()})


def _value(value: Any, hint: Any, where: str) -> Any:
    """Return a value in the shape that a field's annotation asks for."""
    if is_dataclass(hint) and isinstance(hint, type):
        return record_of(_expect(value, dict, "a table", where), hint, where)
    if isinstance(hint, UnionType):
        return _value_of_either(value, [part for part in get_args(hint) if part is not NoneType], where)
    if get_origin(hint) is tuple:
        listed = _expect(value, list, "a list", where)
        return tuple(_value(part, get_args(hint)[0], f"{where}[{place}]") for place, part in enumerate(listed))
    if get_origin(hint) is dict:
        table = _expect(value, dict, "a table", where)
        return {key: _value(part, get_args(hint)[1], f"{where}.{key}") for key, part in table.items()}
    return _plain(value, hint, where)


def _value_of_either(value: Any, hints: list[Any], where: str) -> Any:
    """Return the value in the first shape that takes it."""
    for hint in hints[:-1]:
        try:
            return _value(value, hint, where)
        except InvalidInput:
            continue
    return _value(value, hints[-1], where)


def _plain(value: Any, hint: Any, where: str) -> Any:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if hint is object or type(value) is hint:
        return value
    raise InvalidInput(f"{where}: expected {hint.__name__}, found {value!r}")


def _expect(value: Any, kind: type[Any], what: str, where: str) -> Any:
    if not isinstance(value, kind):
        raise InvalidInput(f"{where}: expected {what}, found {value!r}")
    return value
