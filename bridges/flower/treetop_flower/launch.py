"""How Flower's own programs are started: offline, with TLS and node keys, and with no way to run an app but ours."""

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex

from treetop_flower.settings import VARIABLE, BadSettings, LinkSettings, NodeSettings

OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH

APP_COMMANDS = ("flwr-agentapp", "flwr-clientapp", "flwr-connector", "flwr-model", "flwr-serverapp", "flwr-simulation")
"""What Flower starts for work of any kind."""
OFFLINE = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
}
QUICKLY = {"FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.2"}
"""Seconds between two looks for work: Flower's own one second is added to every round trip."""


def programs() -> Path:
    """Return the folder of the programs of this environment."""
    return Path(sys.prefix) / "bin"


def private_folder(path: Path) -> Path:
    """Make a folder for its owner alone; one that is there keeps its mode, and is refused where others may write."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = path.stat()
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & OTHERS_WRITE:
        raise BadSettings(f"{path}: expected a folder of this user that nobody else may write, found another")
    return path


def write_private(path: Path, text: str) -> None:
    """Write all of a file or nothing, for its owner alone, under a name nobody can guess until it is whole.

    The bridge has an environment of its own and cannot import Treetop's writer.
    """
    partial = path.with_name(f".{path.name}.{token_hex(8)}.partial")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    try:
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise


def search_path(state: Path, ours: Mapping[str, str]) -> Path:
    """Return a folder in which Flower finds nothing but its scheduler and our commands."""
    folder = private_folder(state / "programs")
    wanted = {"flower-superexec": "flower-superexec", **dict.fromkeys(APP_COMMANDS, "treetop-flower-refuse"), **ours}
    for name, program in wanted.items():
        fresh = folder / f".{name}.{token_hex(8)}"
        fresh.symlink_to(programs() / program)
        fresh.replace(folder / name)
    return folder


def environment(state: Path, settings: Path | None = None, path: Path | None = None) -> dict[str, str]:
    """Return the variables that a program of Flower is started with."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FLWR_"))}
    home = private_folder(state / "flower")
    named = {VARIABLE: str(settings.absolute())} if settings else {}
    return {**kept, **OFFLINE, **QUICKLY, "FLWR_HOME": str(home), "PATH": str(path or programs()), **named}


def superlink(settings: LinkSettings, file: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment of SuperLink."""
    path = search_path(settings.state, {"flwr-serverapp": "treetop-flower-serverapp"})
    command = [
        str(programs() / "flower-superlink"), "--host", settings.listen.host, "--port", str(settings.listen.port),
        "--ssl-certfile", str(settings.certificate), "--ssl-keyfile", str(settings.private_key),
        "--ssl-ca-certfile", str(settings.ca), "--database", str(settings.state / "superlink.sqlite"),
        "--enable-supernode-auth", "--disable-runtime-dependency-installation",
    ]  # fmt: skip
    return command, environment(settings.state, file, path)


def supernode(settings: NodeSettings, file: Path) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment of a SuperNode."""
    path = search_path(settings.state, {"flwr-clientapp": "treetop-flower-clientapp"})
    command = [
        str(programs() / "flower-supernode"), "--superlink", settings.superlink,
        "--root-certificates", str(settings.ca), "--auth-supernode-private-key", str(settings.private_key),
        "--host", settings.runtime.host, "--port", str(settings.runtime.port),
    ]  # fmt: skip
    return command, environment(settings.state, file, path)
