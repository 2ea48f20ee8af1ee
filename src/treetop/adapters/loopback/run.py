"""A federation on this machine from its first process to its answer; any process may die on the way."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from treetop.adapters.http.kept_connection import KeptConnection, Patience, Request
from treetop.adapters.http.party_client import PartyClient
from treetop.adapters.http.server_client import ServerClient
from treetop.adapters.loopback.folder import FederationFolder, PartyHome, secret_in
from treetop.adapters.loopback.order import ordered_now
from treetop.adapters.loopback.processes import Processes, Supervised
from treetop.adapters.loopback.settings_texts import HOST, free_ports, write_settings
from treetop.adapters.system.durable_file import content_of, replace_durably
from treetop.errors import PartyUnreachable, QueryFailed

POLL_SECONDS = 0.25
STARTING = Patience(in_all=0.0, answer_within=2.0)
WAITING_SECONDS = 60.0
TICKETS_AT_ONCE = 50_000


@dataclass(frozen=True)
class Standing:
    """How far a federation is."""

    reported: dict[str, tuple[int, int]]
    """For every party, devices that have reported and devices in all."""
    query: dict[str, Any]
    """What the server says of the query."""


class LocalFederation:
    """Processes of one folder."""

    def __init__(self, folder: FederationFolder, processes: Processes) -> None:
        self._folder, self._processes = folder, processes
        names = list(folder.parties)
        server_port, *ports = free_ports(1 + len(names))
        self._urls = {name: f"http://{HOST}:{port}" for name, port in zip(names, ports, strict=True)}
        self._server_url = f"http://{HOST}:{server_port}"
        write_settings(folder, dict(zip(names, ports, strict=True)), server_port)
        self._fleets: dict[str, Supervised] = {}

    def start(self) -> None:
        """Start the server and every party, and wait until they listen."""
        self._serve("server", self._folder.path / "server" / "server.toml")
        for home in self._folder.parties.values():
            self._serve("party", home.path / "party.toml")
        for url in (self._server_url, *self._urls.values()):
            self._wait_for(url)
        self._server = ServerClient(KeptConnection(self._server_url), secret_in(self._folder.path / "server", "admin"))

    def ask(self) -> str:
        """Order the query, unless that was done before; return the digest of its task."""
        if self._folder.task is None:
            users = {name: home.users for name, home in self._folder.parties.items()}
            self._folder.remember_task(self._server.order(ordered_now(self._folder.options, users)))
        return self._folder.task or ""

    def play(self) -> None:
        """Let every party's users report, each with a ticket of her own."""
        for name, home in self._folder.parties.items():
            self._fleets[name] = self._fleet(name, home)

    def follow(self, progress: Callable[[Standing], None]) -> dict[str, Any]:
        """Return the answer once it is there; start again what dies on the way."""
        task = self._folder.task or ""
        while True:
            self._processes.revive()
            try:
                found = self._server.result(task)
                progress(Standing(self._reported(), self._server.state(task)))
            except PartyUnreachable:
                found = None
            if found is not None:
                return found
            time.sleep(POLL_SECONDS)

    def _serve(self, role: str, settings: Path) -> None:
        log = settings.with_name("log.jsonl")
        self._processes.start(settings.parent.name, [role, "--settings", str(settings)], log)

    def _wait_for(self, url: str) -> None:
        connection = KeptConnection(url, patience=STARTING)
        self._until(lambda: connection.ask(Request("GET", "/v1/health")).status == 200, f"{url} did not listen")
        connection.close()

    def _until(self, holds: Callable[[], bool], otherwise: str) -> None:
        """Wait for something that should not take long, and start again what dies meanwhile."""
        end = time.monotonic() + WAITING_SECONDS
        while not _holds(holds):
            self._processes.revive()
            if time.monotonic() > end:
                raise QueryFailed(f"{otherwise} within {WAITING_SECONDS:.0f} s")
            time.sleep(POLL_SECONDS)

    def _fleet(self, name: str, home: PartyHome) -> Supervised:
        tickets = home.path / "fleet" / "tickets.txt"
        if content_of(tickets) is None:
            replace_durably(tickets, self._tickets(name, home))
        arguments = [
            "device", "fleet", "--party", self._urls[name], "--task", self._folder.task or "",
            "--data", str(self._folder.path / "data.parquet"), "--party-name", name, "--tickets", str(tickets),
            "--server-key", self._folder.signing_key.public, "--state", str(home.path / "fleet"), "--json",
            "--epsilon-cap", self._folder.options.epsilon, "--lifetime-cap", self._folder.options.epsilon,
        ]  # fmt: skip
        return self._processes.start(f"{home.path.name} fleet", arguments, home.path / "fleet" / "log.jsonl")

    def _tickets(self, name: str, home: PartyHome) -> bytes:
        client = PartyClient(KeptConnection(self._urls[name]))
        task, key = bytes.fromhex(self._folder.task or ""), home.secret("back_end")
        self._until(lambda: task in {offered.digest for offered in client.tasks()}, f"{name} did not get its task")
        counts = [min(TICKETS_AT_ONCE, home.users - start) for start in range(0, home.users, TICKETS_AT_ONCE)]
        tickets = [ticket.text for count in counts for ticket in client.tickets(task, count, key)]
        client.close()
        return "\n".join(tickets).encode("ascii") + b"\n"

    def _reported(self) -> dict[str, tuple[int, int]]:
        return {name: _progress(fleet, self._folder.parties[name].users) for name, fleet in self._fleets.items()}


def _holds(condition: Callable[[], bool]) -> bool:
    try:
        return condition()
    except PartyUnreachable:
        return False


def _progress(fleet: Supervised, users: int) -> tuple[int, int]:
    """Return what the last line of a fleet's log says of its reports."""
    if fleet.finished:
        return users, users
    try:
        told = json.loads(fleet.last_words())
        return int(told["sent"]), users
    except (ValueError, TypeError, KeyError):
        return 0, users
