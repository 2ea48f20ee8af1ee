"""How Flower's programs are started, and what the bridge may load."""

import ast
import os
import stat
from pathlib import Path

import pytest

import treetop_flower
from treetop_flower import keeper, launch
from treetop_flower.launch import APP_COMMANDS, private_folder, superlink, supernode, write_private
from treetop_flower.settings import VARIABLE, Address, BadSettings, BoundParty, LinkSettings, NodeSettings

PACKAGE = Path(treetop_flower.__file__).parent
BRIDGE = PACKAGE.parent
WITH_FLOWER = {"client_app.py", "server_app.py"}


@pytest.fixture
def link(tmp_path: Path) -> LinkSettings:
    files = tmp_path / "link.crt", tmp_path / "link.key", tmp_path / "ca.crt"
    parties = (BoundParty("north", "ecdsa-sha2-nistp384 AAAA"),)
    return LinkSettings(Address("127.0.0.1", 9092), *files, tmp_path / "state", Address("127.0.0.1", 9100), parties)


def test_superlink_knows_keys_alone_and_stays_offline(link: LinkSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", "elsewhere")
    monkeypatch.setenv("FLWR_TELEMETRY_ENABLED", "1")
    command, environment = superlink(link, Path("link.toml"))
    assert {"--enable-supernode-auth", "--disable-runtime-dependency-installation"} <= set(command)
    assert "--insecure" not in command
    assert environment["FLWR_TELEMETRY_ENABLED"] == "0"
    assert environment["FLWR_DISABLE_UPDATE_CHECK"] == "1"
    assert environment[VARIABLE] == str(Path("link.toml").absolute())
    assert "PYTHONPATH" not in environment


def test_a_folder_of_others_is_refused_and_keeps_its_mode(tmp_path: Path) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    for mode in (0o777, 0o770, 0o1777):
        shared.chmod(mode)
        with pytest.raises(BadSettings):
            private_folder(shared)
        assert stat.S_IMODE(shared.stat().st_mode) == mode
    shared.chmod(0o755)
    assert private_folder(shared) == shared
    assert stat.S_IMODE(shared.stat().st_mode) == 0o755
    assert stat.S_IMODE(private_folder(tmp_path / "new").stat().st_mode) == 0o700


def test_the_bridge_writes_through_no_link(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "config.toml"
    victim.write_text("precious")
    path.symlink_to(victim)
    write_private(path, "content")
    assert (path.is_symlink(), path.read_text(), victim.read_text()) == (False, "content", "precious")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert {each.name for each in tmp_path.iterdir()} == {"victim", "config.toml"}


def test_flower_finds_no_program_that_runs_an_app_but_ours(link: LinkSettings, tmp_path: Path) -> None:
    node = NodeSettings(
        "flower.example:9092", tmp_path / "ca.crt", tmp_path / "node.key", tmp_path / "node", "http://127.0.0.1:1",
        Address("127.0.0.1", 9094),
    )  # fmt: skip
    for _ in range(2):  # again does no harm
        ends = superlink(link, Path("link.toml")), supernode(node, Path("node.toml"))
    for (_, environment), ours in zip(ends, ("serverapp", "clientapp"), strict=True):
        folder = Path(environment["PATH"])
        found = {path.name: os.readlink(path).rpartition("/")[2] for path in folder.iterdir()}
        assert found.pop("flower-superexec") == "flower-superexec"
        assert found.pop(f"flwr-{ours}") == f"treetop-flower-{ours}"
        assert found == dict.fromkeys(set(APP_COMMANDS) - {f"flwr-{ours}"}, "treetop-flower-refuse")
        assert folder.stat().st_mode & 0o077 == 0


def test_the_command_is_told_where_superlink_is(link: LinkSettings) -> None:
    link.state.mkdir()
    keeper.FlowerCommand(link)
    config = (link.state / "keeper" / "flower" / "config.toml").read_text()
    assert f'address = "127.0.0.1:9092"\nroot-certificates = "{link.ca}"' in config
    app = link.state / "keeper" / "app"
    assert {path.name for path in (app / "treetop_flower").iterdir()} == {path.name for path in PACKAGE.glob("*.py")}


def test_the_bridge_loads_nothing_of_treetop_and_flower_in_its_two_apps_alone() -> None:
    sources = sorted(PACKAGE.glob("*.py"))
    assert {path.name for path in sources} >= WITH_FLOWER
    for path in sources:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [each.name for each in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                assert name.split(".")[0] != "treetop", path.name
                assert name.split(".")[0] != "flwr" or path.name in WITH_FLOWER, path.name


def test_the_version_of_flower_is_one() -> None:
    assert '"flwr==1.41.0"' in (BRIDGE / "pyproject.toml").read_text()
    assert "\nflwr==1.41.0" in (BRIDGE / "requirements.txt").read_text()
    assert launch.programs().is_dir()
