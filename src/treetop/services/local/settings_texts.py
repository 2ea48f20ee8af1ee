"""The settings files of a federation on this machine: the same that people write for their own."""

import json
import socket
from collections.abc import Mapping
from pathlib import Path

from treetop.services.local.folder import FederationFolder

HOST = "127.0.0.1"


def write_settings(folder: FederationFolder, ports: Mapping[str, int], server_port: int) -> None:
    """Write all settings anew: ports are free ones of today."""
    signing_key = folder.signing_key.public
    entries = []
    for name, home in folder.parties.items():
        _write(home.path / "party.toml", party_settings(name, ports[name], signing_key))
        entries.append(_party_entry(name, ports[name], f"../{home.path.name}/server.key"))
    _write(folder.path / "server" / "server.toml", server_settings(server_port) + "".join(entries))


def party_settings(name: str, port: int, signing_key: str) -> str:
    """Return the settings of one party on loopback."""
    return f"""\
name = {json.dumps(name)}
listen = "{HOST}:{port}"
store = "reports.sqlite"
reports = "reports"
server_signing_keys = ["{signing_key}"]
ticket_secret_file = "tickets.key"
close_when_complete = true

[[server_access]]
key_file = "server.key"

[[back_end_access]]
key_file = "back_end.key"
"""


def server_settings(port: int) -> str:
    """Return the settings of a server on loopback; the parties follow."""
    return f"""\
listen = "{HOST}:{port}"
journal = "journal.sqlite"
signing_key = "signing.key"

[[admin_access]]
key_file = "admin.key"
"""


def _party_entry(name: str, port: int, key_file: str) -> str:
    return f"""
[[parties]]
name = {json.dumps(name)}
url = "http://{HOST}:{port}"
key_file = {json.dumps(key_file)}
"""


def _write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def free_ports(number: int) -> list[int]:
    """Return ports that nobody listens on at the moment."""
    sockets = [socket.create_server((HOST, 0)) for _ in range(number)]
    ports = [taken.getsockname()[1] for taken in sockets]
    for taken in sockets:
        taken.close()
    return ports
