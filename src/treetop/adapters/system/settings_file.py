"""Settings of a service: a TOML file that a frozen dataclass describes, read once, with all its problems told at once.

What a field may be: text, whole numbers, numbers, yes or no, a path (relative to the file), a moment, a `Secret`,
another frozen dataclass (a table), a tuple of one of these (a list), any of them or None, and every class with a
`from_setting(value, folder)`. A secret `x` is never in the file: `x_file` names a file that holds it, `x_env` a
variable of the environment.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import UTC, date, datetime, time
from difflib import get_close_matches
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from treetop.errors import InvalidInput

Shape = TypeVar("Shape")
_WAYS = ("_file", "_env")
_PLAIN = {str: "a text", int: "a whole number", float: "a number", bool: "true or false"}


@dataclass(frozen=True, repr=False)
class Secret:
    """Something that nobody may read in a log: its text shows nothing of it."""

    _content: bytes

    def reveal(self) -> bytes:
        """Return the secret itself."""
        return self._content

    def __repr__(self) -> str:
        return "Secret(redacted)"


def read_settings(path: Path, shape: type[Shape], environment: Mapping[str, str]) -> Shape:
    """Return the settings of a file, or refuse it with everything that is wrong."""
    reader = _Reader(path.parent, environment)
    settings = reader.table(shape, _content(path), "")
    if reader.problems:
        raise InvalidInput(f"settings {path}: " + "; ".join(reader.problems))
    return settings  # type: ignore[no-any-return]


def _content(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError) as reason:
        raise InvalidInput(f"settings {path} cannot be read: {reason}") from None
    except tomllib.TOMLDecodeError as reason:
        raise InvalidInput(f"settings {path} are not TOML: {reason}") from None


class _Refused(Exception):
    """One value is wrong; the reader notes it and goes on."""


class _Reader:
    """Fills one dataclass and all within it, and remembers what was wrong."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder, self._environment = folder, environment
        self.problems: list[str] = []

    def table(self, shape: Any, content: object, where: str) -> Any:
        """Return the dataclass of a table, or None after noting why there is none."""
        if not isinstance(content, dict):
            self.problems.append(f"{where.rstrip('.')} must be a table, found {content!r}")
            return None
        before = len(self.problems)
        known = {field.name: field for field in fields(shape)}
        types = get_type_hints(shape)
        self._note_unknown(content, [name for field in known for name in _names(field, types[field])], where)
        values = {name: self._value(field, types[name], content, where) for name, field in known.items()}
        return self._built(shape, values, where) if len(self.problems) == before else None

    def _note_unknown(self, content: dict[str, Any], known: list[str], where: str) -> None:
        strangers = [name for name in content if name not in known]
        self.problems += [_told(where, name, known) for name in strangers]
        if any(not _nearest(name, known) for name in strangers):
            self.problems.append(f"known settings are {', '.join(where + name for name in known)}")

    def _value(self, field: "Field[Any]", kind: Any, content: dict[str, Any], where: str) -> Any:
        given = [name for name in _names(field.name, kind) if name in content]
        if not given:
            return self._absent(field, kind, where)
        if len(given) > 1:
            self.problems.append(f"{where}{field.name} must be given once, found {' and '.join(given)}")
            return None
        try:
            return self._read(kind, content[given[0]], where + given[0])
        except _Refused as refusal:
            self.problems.append(str(refusal))
            return None

    def _absent(self, field: "Field[Any]", kind: Any, where: str) -> Any:
        if field.default is not MISSING:
            return field.default
        if field.default_factory is not MISSING:
            return field.default_factory()
        self.problems.append(f"{where}{' or '.join(_names(field.name, kind))} is missing")
        return None

    def _built(self, shape: Any, values: dict[str, Any], where: str) -> Any:
        try:
            return shape(**values)
        except InvalidInput as reason:
            self.problems.append(f"{where.rstrip('.')}: {reason}" if where else str(reason))
            return None

    def _read(self, kind: Any, value: Any, name: str) -> Any:
        kind = _without_none(kind)
        if get_origin(kind) is tuple:
            return tuple(self._items(get_args(kind)[0], value, name))
        if kind is Secret:
            return self._secret(value, name)
        if hasattr(kind, "from_setting"):
            return self._made(kind, value, name)
        if is_dataclass(kind):
            return self.table(kind, value, f"{name}.")
        return self._scalar(kind, value, name)

    def _items(self, kind: Any, value: Any, name: str) -> Iterator[Any]:
        if not isinstance(value, list):
            raise _Refused(f"{name} must be a list, found {value!r}")
        for place, item in enumerate(value):
            yield self._read(kind, item, f"{name}[{place}]")

    def _made(self, kind: Any, value: Any, name: str) -> Any:
        try:
            return kind.from_setting(value, self._folder)
        except InvalidInput as reason:
            raise _Refused(f"{name}: {reason}") from None

    def _scalar(self, kind: Any, value: Any, name: str) -> Any:
        if kind is Path and isinstance(value, str) and value:
            return self._folder / value
        if kind is datetime and isinstance(value, date):
            return _moment(value)
        if type(value) is kind or (kind is float and type(value) is int):
            return value
        expected = {Path: "a path", datetime: "a date or a time"} | _PLAIN
        raise _Refused(f"{name} must be {expected[kind]}, found {value!r}")

    def _secret(self, value: Any, name: str) -> Secret:
        if not isinstance(value, str) or not value:
            raise _Refused(f"{name} must be a name, found something else")
        secret = self._from_file(value, name) if name.endswith("_file") else self._from_environment(value, name)
        if not secret:
            raise _Refused(f"{name}: the secret in {value} is empty")
        return Secret(secret)

    def _from_file(self, value: str, name: str) -> bytes:
        try:
            return (self._folder / value).read_bytes().strip()
        except OSError as reason:
            raise _Refused(f"{name}: {value} cannot be read: {reason.strerror}") from None

    def _from_environment(self, value: str, name: str) -> bytes:
        if value not in self._environment:
            raise _Refused(f"{name}: the environment has no variable {value}")
        return self._environment[value].encode().strip()


def _told(where: str, name: str, known: list[str]) -> str:
    if name + _WAYS[0] in known:
        return f"{where}{name} is a secret: give {name}_file or {name}_env, never {name}"
    nearest = _nearest(name, known)
    return f"unknown setting {where}{name}" + (f", did you mean {nearest[0]!r}?" if nearest else "")


def _nearest(name: str, known: list[str]) -> list[str]:
    return get_close_matches(name, known, n=1, cutoff=0.5)


def _names(field: str, kind: Any) -> list[str]:
    return [field + way for way in _WAYS] if _without_none(kind) is Secret else [field]


def _without_none(kind: Any) -> Any:
    if get_origin(kind) is not UnionType:
        return kind
    (some,) = (part for part in get_args(kind) if part is not NoneType)
    return some


def _moment(value: date) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
