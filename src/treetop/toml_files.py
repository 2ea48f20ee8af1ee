"""Every TOML file that Treetop reads: settings of services, recipes of data, specifications of tables and figures.

A frozen dataclass says what a file may hold, pydantic checks it, and a refusal names everything that is wrong at once.
Paths are relative to the file. A secret `x` is never in it: `x_file` names a file that holds it and that only its
owner can read, `x_env` a variable of the environment. Pydantic is loaded with the first file that is read.
"""

import json
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_args, get_type_hints

from treetop.errors import InvalidInput
from treetop.public_text import name_problem
from treetop.secret_files import read_secret

Shape = TypeVar("Shape")
_SECRET_ENDINGS = ("_file", "_env")
_LIKE_AN_ADDRESS = re.compile(r"://|:.*@|//.*@|pass\w*\s*=")
"""The secret itself where its name should be: it is not shown."""
_EXPECTED = {
    "string_type": ("a text", "str"),
    "int_type": ("a whole number", "int"),
    "float_type": ("a number", "float"),
    "bool_type": ("true or false", "bool"),
    "tuple_type": ("a list", ""),
    "dict_type": ("a table", ""),
    "dataclass_type": ("a table", ""),
}
"""What pydantic's errors mean, and how it calls the kind where a field may be of two."""


@dataclass(frozen=True)
class Source:
    """The folder of a file, and the environment that its secrets may be in."""

    folder: Path = Path()
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ReadBy:
    """Annotates a field: how its value is made of what the file holds; `InvalidInput` refuses it."""

    read: Callable[[Any, Source], Any]

    def __get_pydantic_core_schema__(self, *_: Any) -> Any:
        from pydantic_core import core_schema  # noqa: PLC0415  loaded with the first file

        return core_schema.with_info_plain_validator_function(lambda value, info: self.read(value, info.context))


class FileValue(ABC):
    """A value that a file writes in its own way."""

    @classmethod
    @abstractmethod
    def from_file(cls, value: Any, source: Source) -> Any:
        """Return the value, or raise `InvalidInput`."""

    @classmethod
    def __get_pydantic_core_schema__(cls, *_: Any) -> Any:
        return ReadBy(cls.from_file).__get_pydantic_core_schema__()


@dataclass(frozen=True, repr=False)
class Secret(FileValue):
    """Something that nobody may read in a log: its text shows nothing of it."""

    _content: bytes

    def reveal(self) -> bytes:
        """Return the secret itself."""
        return self._content

    def __repr__(self) -> str:
        return "Secret(redacted)"

    @classmethod
    def from_file(cls, value: Any, source: Source) -> "Secret":
        """Read the secret that `{"x_file": name}` or `{"x_env": name}` points to."""
        ((key, name),) = value.items()
        if not isinstance(name, str) or not name or _LIKE_AN_ADDRESS.search(name):
            raise InvalidInput("secret_not_named")
        if key.endswith("_file"):
            try:
                content = read_secret(source.folder / name).strip()
            except OSError as reason:
                raise InvalidInput("secret_unreadable", name=name, reason=reason.strerror) from None
        elif name in source.environment:
            content = source.environment[name].encode().strip()
        else:
            raise InvalidInput("environment_missing", name=name)
        if not content:
            raise InvalidInput("secret_empty", name=name)
        return cls(content)


def _path_beside(value: Any, source: Source) -> Path:
    if not isinstance(value, str) or not value:
        raise InvalidInput("not_a_path", value=value)
    return source.folder / value


def _moment(value: Any, _source: Source) -> datetime:
    if not isinstance(value, dict) or set(value) != {"date"}:
        raise InvalidInput("not_a_date", value=value)
    moment = datetime.fromisoformat(value["date"])
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _name(value: Any, _source: Source) -> str:
    if problem := name_problem(value):
        if isinstance(value, str):
            raise InvalidInput("name_malformed", problem=problem)
        raise InvalidInput("not_a_text", value=value)
    return str(value)


Name = Annotated[str, ReadBy(_name)]
"""Of a party: people read it everywhere."""
FilePath = Annotated[Path, ReadBy(_path_beside)]
"""Relative to the file that names it."""
Moment = Annotated[datetime, ReadBy(_moment)]
"""A date, or a date and a time; in UTC unless it says otherwise."""


def read_toml(path: Path, shape: type[Shape], environment: Mapping[str, str] | None = None) -> Shape:
    """Return what a file says, or refuse it with everything that is wrong."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as reason:
        raise InvalidInput("settings_unreadable", path=path, reason=reason) from None
    return parse_toml(text, shape, str(path), Source(path.parent, environment or {}))


def parse_toml(text: str, shape: type[Shape], name: str, source: Source | None = None) -> Shape:
    """Return what the text of a file says; a refusal calls the file by `name`."""
    try:
        return _parsed(text, shape, name, source)
    except RecursionError:
        raise InvalidInput("toml_nested_too_deep", name=name) from None


def _parsed(text: str, shape: type[Shape], name: str, source: Source | None) -> Shape:
    from pydantic import TypeAdapter, ValidationError  # noqa: PLC0415  loaded with the first file

    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as reason:
        raise InvalidInput("not_toml", name=name, reason=reason) from None
    problems: list[str] = []
    fields_given = _fields_given(shape, content, "", problems)
    # Read strictly, JSON turns lists into tuples and tables into dataclasses, and converts nothing else.
    written = json.dumps(fields_given, default=lambda moment: {"date": moment.isoformat()})
    try:
        found = TypeAdapter(shape).validate_json(written, strict=True, context=source or Source())
    except ValidationError as refusal:
        problems += _found_by_pydantic(refusal.errors(include_url=False))
    if problems:
        raise InvalidInput("settings_file_invalid", name=name, problems=problems)
    return found


def _fields_given(shape: Any, table: dict[str, Any], prefix: str, problems: list[str]) -> dict[str, Any]:
    """Return a table by the names of its fields; note keys that are unknown, missing or given twice."""
    hints = get_type_hints(shape)
    keys = dict[str, list[str]]()
    given = dict[str, Any]()
    for name in (each.name for each in fields(shape)):
        secret = _within(hints[name], Secret)
        keys[name] = [name + ending for ending in _SECRET_ENDINGS] if secret else [name]
    known = [key for names in keys.values() for key in names]
    _note_unknown([key for key in table if key not in known], known, prefix, problems)
    for each in fields(shape):
        found = [key for key in keys[each.name] if key in table]
        if len(found) > 1:
            problems.append(f"{prefix}{each.name} must be given once, found {' and '.join(found)}")
        elif found and found[0] != each.name:
            given[each.name] = {found[0]: table[found[0]]}  # the key says how a secret is read
        elif found:
            given[each.name] = _value_given(hints[each.name], table[each.name], prefix + each.name, problems)
        elif each.default is MISSING and each.default_factory is MISSING:
            problems.append(f"{prefix}{' or '.join(keys[each.name])} is missing")
    return given


def _value_given(hint: Any, value: Any, where: str, problems: list[str]) -> Any:
    """Return a value with the tables in it by the names of their fields."""
    shape = next((part for part in (hint, *get_args(hint)) if is_dataclass(part)), None)
    if shape is None or _within(shape, FileValue):
        return value
    if isinstance(value, list):
        return [_value_given(shape, each, f"{where}[{index}]", problems) for index, each in enumerate(value)]
    return _fields_given(shape, value, f"{where}.", problems) if isinstance(value, dict) else value


def _within(hint: Any, kind: type) -> bool:
    """Return whether a field holds a kind of value, or nothing."""
    return any(isinstance(part, type) and issubclass(part, kind) for part in (hint, *get_args(hint)))


def _note_unknown(strangers: list[str], known: list[str], prefix: str, problems: list[str]) -> None:
    for key in strangers:
        nearest = get_close_matches(key, known, n=1, cutoff=0.5)
        if key + _SECRET_ENDINGS[0] in known:
            problems.append(f"{prefix}{key} is a secret: give {key}_file or {key}_env, never {key}")
        elif nearest:
            problems.append(f"unknown key {prefix + key!r}, did you mean {nearest[0]!r}?")
        else:
            problems.append(f"unknown key {prefix + key!r}, expected one of {', '.join(known)}")


def _found_by_pydantic(errors: Any) -> list[str]:
    """Return what pydantic found in our own words; missing keys were noted before."""
    problems: list[str] = []
    wrong_kinds: dict[tuple[str, str], list[str]] = {}
    for error in errors:
        kind = error["type"]
        path = error["loc"]
        expected, tag = _EXPECTED.get(kind, ("", ""))
        path = path[:-1] if path and path[-1] == tag else path  # a field of two kinds has an error for each, by its tag
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
        if expected:
            wrong_kinds.setdefault((where, repr(error["input"])), []).append(expected)
        elif kind == "value_error":
            text = str(error["ctx"]["error"])
            problems.append(f"{where} {text}" if text.startswith("must ") else f"{where}: {text}" if where else text)
        elif kind != "missing":
            problems.append(f"{where}: {error['msg']}")
    kinds = [f"{where} must be {' or '.join(names)}, found {found}" for (where, found), names in wrong_kinds.items()]
    return kinds + problems
