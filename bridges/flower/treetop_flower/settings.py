"""The two settings files: of the server's end (SuperLink, gateway, keeper) and of a party's end (SuperNode).

A file is TOML with these keys and no others. Paths are relative to it; a private key must be for its owner alone.
"""

import os
import stat
import tomllib
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit

from treetop_flower.keys import public_bytes

VARIABLE = "TREETOP_FLOWER_SETTINGS"
"""Where the commands leave the path for the apps: a run's own configuration could come from anybody."""


class BadSettings(Exception):
    """Everything that is wrong with a file, in one line."""


@dataclass(frozen=True)
class Address:
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"

    @property
    def loopback(self) -> bool:
        """Return whether only this machine reaches it."""
        return ip_address(self.host).is_loopback


@dataclass(frozen=True)
class BoundParty:
    """A party, and the public key of its node."""

    name: str
    """As in the server's settings."""
    public_key: str
    """In one line, as ssh-keygen writes it."""


@dataclass(frozen=True)
class LinkSettings:
    """The server's end."""

    listen: Address
    """SuperLink's address, with all of its interfaces, of which two ask for no key: this machine alone."""
    certificate: Path
    private_key: Path
    ca: Path
    """What the gateway and the keeper trust as SuperLink's certificate."""
    state: Path
    """A folder for SuperLink's database and Flower's files."""
    gateway: Address
    """Where the server finds the parties; this machine alone."""
    parties: tuple[BoundParty, ...]
    longest_pause_seconds: float = 30.0
    """Between two messages that ask a party at work for its outcome."""
    message_seconds: float = 600.0
    """How long a message and its answer live in SuperLink."""


@dataclass(frozen=True)
class NodeSettings:
    """A party's end."""

    superlink: str
    """Host and port of SuperLink."""
    ca: Path
    private_key: Path
    """Of this node, as `ssh-keygen -t ecdsa -b 384` writes it."""
    state: Path
    """A folder for Flower's files."""
    party: str
    """The party's own service on this machine, such as http://127.0.0.1:8001."""
    runtime: Address
    """Where this node's own processes find it; this machine alone."""


Settings = TypeVar("Settings", LinkSettings, NodeSettings)


def settings_from_environment(kind: type[Settings]) -> Settings:
    """Return the settings that a command of the bridge was started with."""
    return read_settings(Path(os.environ[VARIABLE]), kind)


def read_settings(path: Path, kind: type[Settings]) -> Settings:
    """Read a file, or refuse it with all that is wrong."""
    try:
        table = tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise BadSettings(f"{path}: expected a settings file, found {error}") from None
    problems: list[str] = []
    values = _values(table, kind, path.absolute().parent, problems)
    if problems:
        raise BadSettings(f"{path}: " + "; ".join(problems))
    return kind(**values)


def _values(table: Mapping[str, Any], kind: type, folder: Path, problems: list[str]) -> dict[str, Any]:
    known = {each.name: each for each in fields(kind)}
    problems += [f"{name} is not known; known are {', '.join(known)}" for name in table if name not in known]
    problems += [f"{name} is missing" for name, each in known.items() if name not in table and each.default is MISSING]
    values = {}
    for name in known.keys() & table.keys():
        try:
            values[name] = _READERS[name](table[name], folder)
        except (ValueError, TypeError, AttributeError, OSError) as error:
            problems.append(f"{name}: {error}")
    return values


def _text(value: Any, _folder: Path) -> str:
    if not isinstance(value, str) or not value or not value.isprintable():
        raise ValueError(f"expected a text, found {value!r}")
    return value


def _address(value: Any, folder: Path) -> Address:
    host, _, port = _text(value, folder).rpartition(":")
    if not port.isdigit() or not 0 < int(port) < 65536:
        raise ValueError(f"expected an address such as 127.0.0.1:9100, found {value!r}")
    ip_address(host.strip("[]"))
    return Address(host.strip("[]"), int(port))


def _own_address(value: Any, folder: Path) -> Address:
    found = _address(value, folder)
    if not found.loopback:
        raise ValueError(f"expected an address of this machine alone, such as 127.0.0.1:9100, found {value!r}")
    return found


def _reachable(value: Any, folder: Path) -> str:
    host, _, port = _text(value, folder).rpartition(":")
    if not host or not port.isdigit() or "/" in host:
        raise ValueError(f"expected a host and a port such as flower.example:9092, found {value!r}")
    return f"{host}:{port}"


def _file(value: Any, folder: Path) -> Path:
    path = folder / _text(value, folder)
    if not path.is_file():
        raise ValueError(f"{path} is no file")
    return path


def _secret_file(value: Any, folder: Path) -> Path:
    path = _file(value, folder)
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise ValueError(f"{path} must be for its owner alone, expected mode 600, found {mode:o}")
    return path


def _folder(value: Any, folder: Path) -> Path:
    return folder / _text(value, folder)


def _service(value: Any, folder: Path) -> str:
    parts = urlsplit(_text(value, folder))
    host = parts.hostname or ""
    if (
        parts.scheme != "http"
        or parts.query
        or parts.username
        or not (host == "localhost" or ip_address(host).is_loopback)
    ):
        raise ValueError("expected the party's address on this machine, http://127.0.0.1:PORT, without user or options")
    return str(value)


def _seconds(value: Any, _folder: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 86_400:
        raise ValueError(f"expected seconds, 1 to 86400, found {value!r}")
    return float(value)


def _parties(value: Any, folder: Path) -> tuple[BoundParty, ...]:
    if not isinstance(value, list) or not value:
        raise ValueError("expected [[parties]], one at least")
    problems: list[str] = []
    read = [_values(each, BoundParty, folder, problems) for each in value]
    if problems:
        raise ValueError("; ".join(problems))
    parties = tuple(BoundParty(**each) for each in read)
    for what, found in (("name", [each.name for each in parties]), ("key", [each.public_key for each in parties])):
        if len(set(found)) < len(found):
            raise ValueError(f"two parties have the same {what}")
    return parties


def _public_key(value: Any, folder: Path) -> str:
    line = " ".join(_text(value, folder).split()[:2])  # without the comment
    public_bytes(line)
    return line


_READERS = {
    "listen": _own_address, "gateway": _own_address, "runtime": _own_address, "superlink": _reachable,
    "certificate": _file, "ca": _file, "private_key": _secret_file, "state": _folder,
    "party": _service, "name": _text, "public_key": _public_key, "parties": _parties,
    "longest_pause_seconds": _seconds, "message_seconds": _seconds,
}  # fmt: skip
