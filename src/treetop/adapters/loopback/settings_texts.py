"""The settings files of a federation on this machine: the same that people write for their own."""

import json
import socket
from collections.abc import Mapping
from pathlib import Path

from treetop.adapters.loopback.folder import FederationFolder

HOST = "127.0.0.1"


def write_settings(folder: FederationFolder, ports: Mapping[str, int], server_port: int) -> None:
    """Write all settings anew: ports are free ones of today."""
    for party, port in ports.items():
        _write(folder.path / party / "party.toml", party_settings(party, port, folder.signing_key.public))
    _write(folder.path / "server" / "server.toml", server_settings(server_port, ports))


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


def server_settings(port: int, parties: Mapping[str, int]) -> str:
    """Return the settings of a server on loopback that knows some parties."""
    head = f"""\
listen = "{HOST}:{port}"
journal = "journal.sqlite"
signing_key = "signing.key"

[[admin_access]]
key_file = "admin.key"
"""
    return head + "".join(_party_entry(name, at) for name, at in parties.items())


def _party_entry(name: str, port: int) -> str:
    return f"""
[[parties]]
name = {json.dumps(name)}
url = "http://{HOST}:{port}"
key_file = {json.dumps(f"../{name}/server.key")}
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
