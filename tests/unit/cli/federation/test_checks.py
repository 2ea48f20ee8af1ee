"""`treetop party check` and `treetop server check` refuse what the services refuse, in the same words."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.support.certificates import TLS_TABLE, Authority
from tests.support.every_command import app
from tests.support.parties import SIGNING

from treetop.adapters.system.key_files import SigningKey
from treetop.cli.main import main
from treetop.errors import InvalidInput
from treetop.services.party import service as party_service
from treetop.services.server import service as server_service

Said = Callable[..., tuple[int, str]]
PARTY = f"""
name = "north"
listen = "127.0.0.1:0"
store = "party.db"
reports = "reports"
server_signing_keys = ["{SIGNING.public}"]
ticket_secret_file = "first.key"
[[server_access]]
key_file = "second.key"
[[back_end_access]]
key_file = "third.key"
{TLS_TABLE}"""
SERVER = f"""
listen = "127.0.0.1:0"
journal = "server.db"
signing_key = "signing.key"
[[admin_access]]
key_file = "first.key"
[[parties]]
name = "north"
url = "https://north.example"
key_file = "second.key"
ca = "ca.pem"
{TLS_TABLE}"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Settings of a party and a server, and all that they name; a service that would listen ends."""
    authority = Authority()
    authority.issue(tmp_path)
    authority.save(tmp_path / "ca.pem")
    for name in ("first", "second", "third"):
        (tmp_path / f"{name}.key").write_text(name * 10)
    SigningKey.generate().save(tmp_path / "signing.key")
    (tmp_path / "party.toml").write_text(PARTY)
    (tmp_path / "server.toml").write_text(SERVER)

    def listening(_address: object) -> Any:
        raise InvalidInput("it would listen now")

    for service in (party_service, server_service):
        monkeypatch.setattr(service, "listening", listening)
    return tmp_path


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Said:
    """Type a command; return how it ended and what it said."""

    def typed(*words: object) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["treetop", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            main()
        shown = capsys.readouterr()
        return int(left.value.code or 0), " ".join((shown.out + shown.err).split())

    return typed


@pytest.mark.parametrize("role", ["party", "server"])
def test_what_is_right_passes(said: Said, folder: Path, role: str) -> None:
    settings = ("--settings", folder / f"{role}.toml")
    code, text = said(role, "check", *settings)
    assert (code, "https://127.0.0.1:0" in text) == (0, True)
    if role == "server":
        assert SigningKey.load(folder / "signing.key").public in text
    assert said(role, *settings) == (2, "error: it would listen now")
    assert not (folder / "party.db").exists()


def opened(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).chmod(0o644)


def gone(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def spoilt(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_text("nothing of use")


@pytest.mark.parametrize(("role", "fault", "told"), [
    *((role, fault(f"{name}.key"), told)
      for role, names in (("party", ("first", "second", "third")), ("server", ("first", "second", "signing")))
      for name in names
      for fault, told in ((opened, "chmod 600"), (gone, "No such file"), (spoilt, ""))
      if (role, name, fault) != ("server", "second", spoilt)),  # a key that a party gave: any text may be one
    *((role, fault(file), told)
      for role in ("party", "server")
      for file, fault, told in (
          ("key.pem", opened, "chmod 600"), ("key.pem", gone, "cannot be used"), ("key.pem", spoilt, "cannot be used"),
          ("certificate.pem", gone, "cannot be used"), ("certificate.pem", spoilt, "cannot be used"))),
    ("server", gone("ca.pem"), "no certificates can be read"), ("server", spoilt("ca.pem"), "no certificates"),
])  # fmt: skip
def test_what_a_service_refuses_its_check_refuses(
    said: Said, folder: Path, role: str, fault: Callable[[Path], object], told: str
) -> None:
    fault(folder)
    settings = ("--settings", folder / f"{role}.toml")
    checked = said(role, "check", *settings)
    assert checked[0] == 2
    assert told in checked[1]
    assert checked == said(role, *settings)


def test_no_option_takes_a_secret_itself() -> None:
    def options(command: Any) -> list[Any]:
        below = [each for child in getattr(command, "commands", {}).values() for each in options(child)]
        return [*command.params, *below]

    found = {name for each in options(typer.main.get_command(app)) for name in each.opts if name.startswith("--")}
    assert {"--ticket-file", "--tickets", "--key-file", "--item-file"} <= found
    telling = {name for name in found if any(word in name for word in ("ticket", "key", "secret", "password", "token"))}
    assert telling == {"--ticket-file", "--tickets", "--key-file", "--server-key"}  # the last is a public key
