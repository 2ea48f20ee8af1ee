"""Run at the server: registers the parties' keys with SuperLink and keeps one run going.

A run ends when SuperLink or the run's own process ends; then another is started. What the lost one had under way the
server asks for again.
"""

import json
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from importlib.resources import files
from typing import Any, Protocol

from treetop_flower.launch import environment, private_folder, programs, write_private
from treetop_flower.settings import Address, LinkSettings

CONNECTION = "treetop"
LOOK_SECONDS, STARTING_SECONDS, SILENT_SECONDS = 1.0, 90.0, 5.0
"""Between two looks at the gateway; how long a new run may take to open it, and how long it may then be silent."""
RECONNECT_SECONDS, REGISTER_AGAIN_SECONDS = 30.0, 300.0
"""How long nodes have to find a new run before their keys are registered once more, and how often that is repeated."""
COMMAND_SECONDS = 60.0
KNOWN_KEY = "already in use"
APP = """\
[project]
name = "treetop-flower-bridge"
version = "0.1.0"
description = "Carries the messages between a Treetop server and its parties."
license = "Apache-2.0"
dependencies = []

[tool.flwr.app]
publisher = "treetop"

[tool.flwr.app.components]
serverapp = "treetop_flower.server_app:app"
clientapp = "treetop_flower.client_app:app"
"""
"""What SuperLink must be given to start a run; both ends run what is installed there."""


class ControlFailed(Exception):
    """A command to SuperLink that failed, with what it said."""


class Control(Protocol):
    """What the keeper asks of SuperLink."""

    def register(self, party: str, public_key: str) -> None:
        """Make a key known, unless it is."""
        ...

    def run(self) -> str:
        """Start a run; return its identifier."""
        ...

    def stop(self, run: str) -> None:
        """End a run."""
        ...


class FlowerCommand:
    """The command `flwr`, which talks to SuperLink's control API."""

    def __init__(self, settings: LinkSettings) -> None:
        self._folder = private_folder(settings.state / "keeper")
        self._environment = environment(self._folder)
        self._app = private_folder(self._folder / "app")
        package = private_folder(self._app / "treetop_flower")
        write_private(self._app / "pyproject.toml", APP)
        for source in files("treetop_flower").iterdir():
            if source.name.endswith(".py"):
                write_private(package / source.name, source.read_text("utf-8"))
        certificate = json.dumps(str(settings.ca), ensure_ascii=False)
        connection = f'address = "{settings.listen}"\nroot-certificates = {certificate}\n'
        config = f'[superlink]\ndefault = "{CONNECTION}"\n\n[superlink.{CONNECTION}]\n{connection}'
        write_private(self._folder / "flower" / "config.toml", config)

    def register(self, party: str, public_key: str) -> None:
        """Make a key known, unless it is."""
        file = self._folder / "key.pub"
        write_private(file, public_key + "\n")
        try:
            self._said("supernode", "register", str(file), CONNECTION)
        except ControlFailed as failure:
            if KNOWN_KEY not in str(failure).lower():
                raise ControlFailed(f"key of {party}: {failure}") from None

    def run(self) -> str:
        """Start a run."""
        return str(self._said("run", str(self._app), CONNECTION)["run-id"])

    def stop(self, run: str) -> None:
        """End a run."""
        self._said("stop", run, CONNECTION)

    def _said(self, *words: str) -> dict[str, Any]:
        command = [str(programs() / "flwr"), *words, "--format", "json"]
        try:
            done = subprocess.run(  # noqa: S603  Flower's own command
                command, env=self._environment, capture_output=True, timeout=COMMAND_SECONDS, check=False,
                stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise ControlFailed(f"flwr {words[0]} took more than {COMMAND_SECONDS:.0f} s") from None
        text = done.stdout.decode("utf-8", "replace")
        try:
            answer: dict[str, Any] = json.loads(text[text.index("{") :])
        except ValueError:
            answer = {}
        if done.returncode != 0 or not answer.get("success"):
            said = answer.get("error-message") or done.stderr.decode("utf-8", "replace")[-500:] or text[-500:]
            raise ControlFailed(f"flwr {words[0]}: {' '.join(str(said).split())}")
        return answer


@dataclass(frozen=True)
class Carrying:
    """What a gateway that answers says of itself."""

    run: str
    connected: frozenset[str]


def gateway_health(address: Address) -> Carrying | None:
    """Return which run's gateway answers, if there is one."""
    connection = HTTPConnection(address.host, address.port, timeout=5.0)
    try:
        connection.request("GET", "/v1/health")
        reply = connection.getresponse()
        answer = json.loads(reply.read(1 << 16))
        return Carrying(str(answer["run"]), frozenset(answer["connected"])) if reply.status == 200 else None
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return None
    finally:
        connection.close()


class Keeper:
    """Keeps one run going."""

    def __init__(
        self,
        control: Control,
        keys: Mapping[str, str],
        health: Callable[[], Carrying | None],
        say: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._control, self._keys, self._health, self._say, self._clock = control, keys, health, say, clock
        self._run: str | None = None
        self._until = 0.0
        """Until when the run may be silent."""
        self._register_at = 0.0
        self._said = ""

    def look(self) -> None:
        """Start another run if none answers; register the keys of nodes that are not connected."""
        try:
            found = self._health()
            if found is not None:
                self._carries(found)
            elif self._run is None or self._clock() >= self._until:
                self._start()
            self._said = ""
        except ControlFailed as failure:
            if str(failure) != self._said:
                self._say(str(failure))
            self._said = str(failure)

    def _carries(self, found: Carrying) -> None:
        now = self._clock()
        if found.run != self._run or self._until > now + SILENT_SECONDS:
            self._say(f"run {found.run} carries")
        self._run, self._until = found.run, now + SILENT_SECONDS
        missing = [party for party in self._keys if party not in found.connected]
        if missing and now >= self._register_at:
            self._register(missing)

    def _register(self, parties: list[str]) -> None:
        for party in parties:
            self._control.register(party, self._keys[party])
        self._register_at = self._clock() + REGISTER_AGAIN_SECONDS
        self._say(f"registered: {', '.join(parties)}")

    def _start(self) -> None:
        if self._register_at == 0.0:  # nobody connects before
            self._register(list(self._keys))
        if self._run is not None:
            self._say(f"run {self._run} has ended")
            lost, self._run = self._run, None
            self._register_at = min(self._register_at, self._clock() + RECONNECT_SECONDS)
            with suppress(ControlFailed):  # it has ended, or SuperLink does not know it any more
                self._control.stop(lost)
        self._run = self._control.run()
        self._until = self._clock() + STARTING_SECONDS
        self._say(f"run {self._run} is started")
