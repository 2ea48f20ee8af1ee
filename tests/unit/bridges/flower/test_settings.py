"""Both settings files: strict, and refused with all that is wrong."""

import re
from pathlib import Path
from textwrap import dedent

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from treetop_flower.keys import public_bytes
from treetop_flower.settings import (
    VARIABLE,
    BadSettings,
    LinkSettings,
    NodeSettings,
    read_settings,
    settings_from_environment,
)
from treetop_flower.wire import ACTIONS

SSH = Encoding.OpenSSH, PublicFormat.OpenSSH


def public_line() -> str:
    return ec.generate_private_key(ec.SECP384R1()).public_key().public_bytes(*SSH).decode()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("link.crt", "link.key", "ca.crt", "node.key"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0o600)
    return tmp_path


def link(folder: Path, *, parties: str | None = None, more: str = "", **changes: str) -> Path:
    given = {
        "listen": "127.0.0.1:9092", "certificate": "link.crt", "private_key": "link.key", "ca": "ca.crt",
        "state": "state", "gateway": "127.0.0.1:9100",
    } | changes  # fmt: skip
    shown = "\n".join(f'{name} = "{value}"' for name, value in given.items() if value)
    table = f'\n[[parties]]\nname = "north"\npublic_key = "{public_line()} comment"\n' if parties is None else parties
    (folder / "link.toml").write_text(f"{shown}\n{more}\n{table}")
    return folder / "link.toml"


def node(folder: Path, **changes: str) -> Path:
    given = {
        "superlink": "flower.example:9092", "ca": "ca.crt", "private_key": "node.key", "state": "state",
        "party": "http://127.0.0.1:8001", "runtime": "127.0.0.1:9094",
    } | changes  # fmt: skip
    (folder / "node.toml").write_text("\n".join(f'{name} = "{value}"' for name, value in given.items()))
    return folder / "node.toml"


def test_the_servers_end_is_read(folder: Path) -> None:
    settings = read_settings(link(folder, more="longest_pause_seconds = 5"), LinkSettings)
    assert (str(settings.listen), str(settings.gateway)) == ("127.0.0.1:9092", "127.0.0.1:9100")
    assert settings.longest_pause_seconds == 5.0
    assert settings.state == folder / "state"
    assert [party.name for party in settings.parties] == ["north"]
    assert public_bytes(settings.parties[0].public_key).startswith(b"-----BEGIN PUBLIC KEY-----")


def test_the_partys_end_is_read_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(node(folder)))
    settings = settings_from_environment(NodeSettings)
    assert (settings.superlink, settings.party) == ("flower.example:9092", "http://127.0.0.1:8001")


@pytest.mark.parametrize(("changes", "says"), [
    ({"gateway": "0.0.0.0:9100"}, "gateway: expected an address of this machine alone"),
    ({"gateway": "localhost"}, "gateway: expected an address such as"),
    ({"listen": ""}, "listen is missing"),
    ({"listen": "0.0.0.0:9092"}, "listen: expected an address of this machine alone"),
    ({"listen": "127.0.0.1:0"}, "listen: expected an address"),
    ({"typo": "x"}, "typo is not known; known are listen, certificate"),
    ({"certificate": "none.crt"}, "certificate: .*none.crt is no file"),
    ({"more": "message_seconds = 0"}, "message_seconds: expected seconds, 1 to 86400, found 0"),
    ({"parties": ""}, "parties is missing"),
    ({"parties": "[[parties]]\nname = 'a'"}, "public_key is missing"),
    ({"parties": "[[parties]]\nname = 'a'\npublic_key = 'ssh-rsa AAAA'"}, "expected a line such as ecdsa"),
    ({"parties": "[[parties]]\nname = 'a'\npublic_key = 'x'\nurl = 'y'"}, "url is not known"),
])  # fmt: skip
def test_a_servers_end_that_is_wrong_is_refused(folder: Path, changes: dict[str, str], says: str) -> None:
    with pytest.raises(BadSettings, match=says):
        read_settings(link(folder, **changes), LinkSettings)


def test_all_that_is_wrong_is_said_at_once(folder: Path) -> None:
    with pytest.raises(BadSettings, match="typo is not known.*listen is missing.*gateway: expected"):
        read_settings(link(folder, listen="", typo="x", gateway="1.2.3.4:5"), LinkSettings)


def test_two_parties_have_two_names_and_two_keys(folder: Path) -> None:
    key = public_line()
    same_key = "".join(f"[[parties]]\nname = '{name}'\npublic_key = '{key}'\n" for name in "ab")
    with pytest.raises(BadSettings, match="two parties have the same key"):
        read_settings(link(folder, parties=same_key), LinkSettings)
    same_name = "".join(f"[[parties]]\nname = 'a'\npublic_key = '{public_line()}'\n" for _ in "ab")
    with pytest.raises(BadSettings, match="two parties have the same name"):
        read_settings(link(folder, parties=same_name), LinkSettings)


@pytest.mark.parametrize(("changes", "says"), [
    ({"party": "https://party.example"}, "party: "), ({"runtime": "0.0.0.0:9094"}, "runtime: "),
    ({"party": "http://10.0.0.1:8001"}, "expected the party's address"),
    ({"superlink": "https://flower.example"}, "expected a host and a port"),
])  # fmt: skip
def test_a_partys_end_that_is_wrong_is_refused(folder: Path, changes: dict[str, str], says: str) -> None:
    with pytest.raises(BadSettings, match=says):
        read_settings(node(folder, **changes), NodeSettings)


def test_a_private_key_is_for_its_owner_alone(folder: Path) -> None:
    (folder / "node.key").chmod(0o640)
    with pytest.raises(BadSettings, match="expected mode 600, found 640"):
        read_settings(node(folder), NodeSettings)


def test_other_keys_than_those_flower_takes_are_refused() -> None:
    for key in (ed25519.Ed25519PrivateKey.generate(), ec.generate_private_key(ec.SECP256K1())):
        try:
            line = key.public_key().public_bytes(*SSH).decode()
        except ValueError:  # OpenSSH has no such curve
            continue
        with pytest.raises(ValueError, match="expected a line such as"):
            public_bytes(line)


def test_the_files_of_the_how_to_are_settings(folder: Path) -> None:
    page = (Path(__file__).parents[4] / "docs" / "how_to" / "flower.md").read_text()
    blocks = [dedent(block) for block in re.findall(r"```toml\n(.*?)```", page, re.DOTALL)]
    (linked,) = [block for block in blocks if block.startswith("listen")]
    (folder / "link.toml").write_text(linked.replace("ecdsa-sha2-nistp384 AAAA…", public_line()))
    (served,) = [block for block in blocks if block.startswith("superlink")]
    (folder / "node.toml").write_text(served)
    assert read_settings(folder / "link.toml", LinkSettings).message_seconds == 600
    assert "`message_seconds` (600)" in page
    assert read_settings(folder / "node.toml", NodeSettings).superlink == "flower.example:443"
    assert all(f"query.{action}" in page for action in ACTIONS)
