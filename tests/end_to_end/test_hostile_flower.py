"""An app that somebody sends over Flower: Flower runs it on every machine, the bridge on none.

Flower's own programs are tried with the same app first: what the bridge prevents really happens without it.
"""

import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from tests.support.flower import NEEDS_FLOWER, PROGRAMS

from treetop.adapters.system.key_files import issue_self_signed
from treetop.services.local.processes import free_ports
from treetop_flower.keeper import gateway_health
from treetop_flower.launch import OFFLINE
from treetop_flower.settings import Address

SECONDS = 150
pytestmark = NEEDS_FLOWER
PROJECT = """\
[project]
name = "hostile"
version = "1.0.0"
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "somebody"

[tool.flwr.app.components]
serverapp = "hostile.server:app"
clientapp = "hostile.client:app"
"""
SERVER = """\
import json, pathlib, time
from flwr.app import ConfigRecord, Message, RecordDict
from flwr.serverapp import ServerApp
MARKS = pathlib.Path({marks!r})
(MARKS / "server").touch()
app = ServerApp()

@app.main()
def main(grid, context):
    while not (nodes := list(grid.get_node_ids())):
        time.sleep(0.2)
    told = {{}}
    for kind in ("train", "query", "query.standing", "query.metrics"):
        content = RecordDict({{"call": ConfigRecord({{"path": "/metrics", "key": ""}})}})
        (reply,) = grid.send_and_receive([Message(content, dst_node_id=nodes[0], message_type=kind)], timeout=120)
        told[kind] = "error" if reply.has_error() else "answer"
    (MARKS / "told.json").write_text(json.dumps(told))
"""
CLIENT = """\
import pathlib
from flwr.app import Message, RecordDict
from flwr.clientapp import ClientApp
MARKS = pathlib.Path({marks!r})
(MARKS / "client").touch()
app = ClientApp()

@app.train()
@app.query()
@app.query("standing")
@app.query("metrics")
def answer(message, context):
    return Message(RecordDict(), reply_to=message)
"""


@dataclass
class Scene:
    """A SuperLink, a party's node and a sender of apps, each a process of its own."""

    folder: Path
    marks: Path
    gateway: Address
    requests: list[str]
    """What has reached the party's service."""
    _started: ExitStack

    def start(self, *command: str) -> None:
        """Run a program until the end."""
        log = self._started.enter_context((self.folder / f"{Path(command[0]).name}-{command[1]}.log").open("wb"))
        process = subprocess.Popen(command, env=self.plain(), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        self._started.callback(process.wait, 60)
        self._started.callback(process.terminate)

    def link(self, *, own: bool) -> None:
        """Start SuperLink: as the bridge does, or as Flower's documentation says."""
        if own:
            return self.start(str(PROGRAMS / "treetop-flower"), "link", "--settings", str(self.folder / "link.toml"))
        ends = "--ssl-certfile", "link.crt", "--ssl-keyfile", "link.key", "--ssl-ca-certfile", "link.crt"
        paths = [str(self.folder / each) if each.startswith("link.") else each for each in ends]
        host, _, port = self._read("superlink").rpartition(":")
        return self.start(
            str(PROGRAMS / "flower-superlink"), "--host", host, "--port", port, *paths, "--enable-supernode-auth",
            "--disable-runtime-dependency-installation",
        )  # fmt: skip

    def node(self, *, own: bool) -> None:
        """Register the party's node and start it: as the bridge does, or as Flower's documentation says."""
        self._flwr("supernode", "register", str(self.folder / "node.pub"), "there")
        if own:
            return self.start(str(PROGRAMS / "treetop-flower"), "node", "--settings", str(self.folder / "node.toml"))
        host, _, port = self._read("runtime").rpartition(":")
        return self.start(
            str(PROGRAMS / "flower-supernode"), "--superlink", self._read("superlink"), "--host", host, "--port", port,
            "--root-certificates", str(self.folder / "link.crt"),
            "--auth-supernode-private-key", str(self.folder / "node.key"),
        )  # fmt: skip

    def send_app(self) -> None:
        """Start a run of the hostile app."""
        self._flwr("run", str(self.folder / "app"), "there")

    def wait(self, what: Callable[[], object]) -> None:
        """Wait until something is so."""
        end = time.monotonic() + SECONDS
        while not what():
            logs = {path.name: path.read_text(errors="replace")[-2000:] for path in self.folder.glob("*.log")}
            assert time.monotonic() < end, logs
            time.sleep(0.2)

    def told(self) -> dict[str, str]:
        """Wait for what the hostile server says of the node's answers."""
        file = self.marks / "told.json"
        self.wait(lambda: file.exists() and file.stat().st_size)
        answers: dict[str, str] = json.loads(file.read_text())
        return answers

    def plain(self) -> dict[str, str]:
        """Return the variables that Flower's programs are started with."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "FLWR_"))}
        home = {"FLWR_HOME": str(self.folder / "flower"), "PATH": f"{PROGRAMS}:{kept['PATH']}"}
        return {**kept, **OFFLINE, **home}

    def _read(self, name: str) -> str:
        lines = (self.folder / "node.toml").read_text().splitlines()
        return next(line.split('"')[1] for line in lines if line.startswith(f"{name} = "))

    def _flwr(self, *words: str) -> None:
        said = ""

        def done() -> bool:
            nonlocal said
            command = [str(PROGRAMS / "flwr"), *words, "--format", "json"]
            ran = subprocess.run(command, env=self.plain(), capture_output=True, text=True, timeout=120, check=False)
            said = ran.stdout + ran.stderr
            return ran.returncode == 0 and '"success": true' in said

        try:
            self.wait(done)  # SuperLink takes a while to listen
        except AssertionError as late:
            raise AssertionError(said) from late


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    link, gateway, runtime = free_ports(3)
    requests: list[str] = []

    class Party(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(self.path)
            self.send_error(404)

        def log_message(self, *_: object) -> None: ...

    party = HTTPServer(("127.0.0.1", 0), Party)
    Thread(target=party.serve_forever, daemon=True).start()
    issue_self_signed("127.0.0.1", tmp_path / "link.crt", tmp_path / "link.key")
    public = write_node_key(tmp_path)
    (tmp_path / "link.toml").write_text(
        f'listen = "127.0.0.1:{link}"\ngateway = "127.0.0.1:{gateway}"\nstate = "link"\ncertificate = "link.crt"\n'
        f'private_key = "link.key"\nca = "link.crt"\n\n[[parties]]\nname = "north"\npublic_key = "{public}"\n'
    )
    (tmp_path / "node.toml").write_text(
        f'superlink = "127.0.0.1:{link}"\nca = "link.crt"\nprivate_key = "node.key"\nstate = "node"\n'
        f'party = "http://127.0.0.1:{party.server_port}"\nruntime = "127.0.0.1:{runtime}"\n'
    )
    marks, package, home = tmp_path / "marks", tmp_path / "app" / "hostile", tmp_path / "flower"
    for each in (marks, package, home):
        each.mkdir(parents=True)
    (package.parent / "pyproject.toml").write_text(PROJECT)
    (package / "__init__.py").touch()
    (package / "server.py").write_text(SERVER.format(marks=str(marks)))
    (package / "client.py").write_text(CLIENT.format(marks=str(marks)))
    connection = f'[superlink.there]\naddress = "127.0.0.1:{link}"\nroot-certificates = "{tmp_path / "link.crt"}"\n'
    (home / "config.toml").write_text(f'[superlink]\ndefault = "there"\n\n{connection}')
    with ExitStack() as started:
        started.callback(party.server_close)
        started.callback(party.shutdown)
        yield Scene(tmp_path, marks, Address("127.0.0.1", gateway), requests, started)


def write_node_key(folder: Path) -> str:
    key = ec.generate_private_key(ec.SECP384R1())
    form = serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    (folder / "node.key").touch(0o600)
    (folder / "node.key").write_bytes(key.private_bytes(*form))
    line = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH).decode()
    (folder / "node.pub").write_text(line + "\n")
    return line


def test_flower_by_itself_runs_what_it_is_sent_at_both_ends(scene: Scene) -> None:
    scene.link(own=False)
    scene.node(own=False)
    scene.send_app()
    assert set(scene.told().values()) == {"answer"}
    assert {path.name for path in scene.marks.iterdir()} == {"server", "client", "told.json"}


def test_a_node_of_the_bridge_runs_nothing_that_a_hostile_superlink_sends(scene: Scene) -> None:
    """Messages that are none of the seven calls get an error, and reach no endpoint of the party."""
    scene.link(own=False)
    scene.node(own=True)
    scene.send_app()
    assert set(scene.told().values()) == {"error"}
    assert {path.name for path in scene.marks.iterdir()} == {"server", "told.json"}
    assert scene.requests == []


def test_a_superlink_of_the_bridge_runs_its_own_gateway_whatever_it_is_sent(scene: Scene) -> None:
    scene.link(own=True)
    scene.node(own=False)
    scene.send_app()
    scene.wait(lambda: gateway_health(scene.gateway))
    time.sleep(5)
    assert list(scene.marks.iterdir()) == []
