"""Real `treetop server` and `treetop party` processes with small populations, and whatever stands between them."""

import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.federations import crowd

from treetop.adapters.http.retrying_connection import Request, RetryingConnection, RetryPolicy
from treetop.adapters.system.key_files import PinnedKeys, SigningKey
from treetop.datasets.party_split import HeldItems
from treetop.federation.device.ledger import Caps
from treetop.services.device.party_client import PartyClient
from treetop.services.fleet.fleet import Fleet, FleetPlan, FleetTotals
from treetop.services.local.folder import party_settings, server_settings
from treetop.services.local.processes import Processes, Supervised
from treetop.services.server.client import ServerClient

START_SECONDS, ANSWER_SECONDS = 120.0, 240.0
EAGER = RetryPolicy(in_all=120, first_pause=0.05, longest_pause=0.5, answer_within=30)
METRICS_TABLE = '\n[[metrics_access]]\nkey_file = "metrics.key"\n'
ITEMS = [str(item) for item in range(256)]
Through = Callable[[str, int], int]
"""Which port leads to a party (its name, its own port)."""


def directly(_party: str, port: int) -> int:
    return port


def key_of(name: str) -> str:
    return f"{name}-key-" + "0123456789abcdef" * 2


class RunningFederation:
    """One server, some parties; devices are played by fleets in threads of the test."""

    def __init__(self, folder: Path, sizes: Mapping[str, int], scheme: str = "http", ca: Path | None = None) -> None:
        self.folder, self.sizes, self.scheme, self.ca = folder, sizes, scheme, ca
        self.signing, self.began = SigningKey.generate(), int(time.time())
        self.processes = Processes(lambda name: None)
        self.party_tables = self.server_tables = ""
        self.ports: dict[str, int] = {}
        self.parties: dict[str, Supervised] = {}

    def start(self, through: Through = directly) -> None:
        """Start parties, then the server, which reaches them as it is told."""
        for name in self.sizes:
            text = party_settings(name, 0, self.signing.public, least_reports=1) + METRICS_TABLE + self.party_tables
            keys = {"tickets": "ticket", "server": name, "back_end": "back-end", "metrics": "metrics"}
            self._laid_out(name, "party.toml", text, **keys)
            self.parties[name] = self._started(name, "party")
        for name, process in self.parties.items():
            self.ports[name] = listening_port(process)
        entries = "".join(self._entry(name, through(name, port)) for name, port in self.ports.items())
        text = server_settings(0) + METRICS_TABLE + self.server_tables + entries
        keys = {"admin": "admin", "metrics": "metrics", **{name: name for name in self.sizes}}
        self._laid_out("server", "server.toml", text, **keys)
        self.signing.save(self.folder / "server" / "signing.key")
        self.server = self._started("server", "server")
        self.ports["server"] = listening_port(self.server)

    def _started(self, name: str, role: str) -> Supervised:
        settings = str(self.folder / name / f"{role}.toml")
        return self.processes.start(name, [role, "--settings", settings], self.folder / name / "log.jsonl")

    def _laid_out(self, name: str, file: str, text: str, **keys: str) -> None:
        home = self.folder / name
        home.mkdir(parents=True, exist_ok=True)
        (home / file).write_text(text)
        for key, owner in keys.items():
            (home / f"{key}.key").write_text(key_of(owner))

    def _entry(self, name: str, port: int) -> str:
        trusted = f'ca = "{self.ca}"\n' if self.ca else ""
        return f'[[parties]]\nname = "{name}"\nurl = "{self.url(port)}"\nkey_file = "{name}.key"\n{trusted}'

    def url(self, port: int) -> str:
        return f"{self.scheme}://localhost:{port}"

    def ask(self, name: str, path: str, key: str = "") -> bytes:
        """Return what a process says, without a key or with one."""
        with closing(self.connection(name)) as connection:
            return connection.ask(Request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})).body

    def connection(self, name: str) -> RetryingConnection:
        return RetryingConnection(self.url(self.ports[name]), self.ca, EAGER)

    @contextmanager
    def analyst(self) -> Iterator[ServerClient]:
        with closing(ServerClient(self.connection("server"), key_of("admin"))) as client:
            yield client

    def order(self, **changes: Any) -> str:
        """Ask for three items; return the task. The same order again is the same task."""
        now = self.began
        order = {
            "name": "fruit", "k": 3, "epsilon": "8", "encoding": "ids", "parties": list(self.sizes),
            "settings": {"bits": "8", "step_bits": "4"}, "least": {"estimate": 1, "validation": 1},
            "deadlines": {"opens": now - 60, "enrolment": now + 3600, "reports": now + 7200, "level_seconds": 600},
            "expected": dict(self.sizes),
        }  # fmt: skip
        with self.analyst() as client:
            return client.order({**order, **changes})

    def tickets(self, name: str, task: str) -> list[bytes]:
        """Give every user of a party a ticket, once the party has the task."""
        limit = time.monotonic() + START_SECONDS
        with closing(PartyClient(self.connection(name))) as client:
            while bytes.fromhex(task) not in {offered.digest for offered in client.tasks()}:
                assert time.monotonic() < limit, self.parties[name].lines()
                time.sleep(0.05)
            issued = client.tickets(bytes.fromhex(task), self.sizes[name], key_of("back-end"))
        return [ticket.to_bytes() for ticket in issued]

    def play(self, name: str, task: str, port: int | None = None, batch: int = 20) -> FleetTotals:
        """Let all users of a party report; return what became of it."""
        held = HeldItems(ITEMS, np.array(crowd(self.sizes)[name]))
        plan = FleetPlan(
            self.url(port or self.ports[name]), bytes.fromhex(task), name, self.tickets(name, task),
            self.folder / name / "fleet", PinnedKeys([self.signing.public]), self.ca, batch=batch, retry=EAGER,
            caps=Caps(Fraction(8), Fraction(8), window=Fraction(8)),
        )  # fmt: skip
        with closing(Fleet(plan, held, name)) as fleet:
            return fleet.run()

    def play_all(self, pool: ThreadPoolExecutor, task: str, through: Through = directly) -> "list[Future[FleetTotals]]":
        return [pool.submit(self.play, name, task, through(name, self.ports[name])) for name in self.sizes]

    def result(self, task: str, seconds: float = ANSWER_SECONDS) -> dict[str, Any]:
        """Wait for the answer."""
        limit = time.monotonic() + seconds
        with self.analyst() as client:
            while (found := client.result(task)) is None:
                state = client.state(task)
                assert state["state"] != "failed", state
                assert time.monotonic() < limit, (state, self.server.lines()[-5:])
                time.sleep(0.1)
        return found

    def failure(self, task: str) -> str:
        """Wait until a query has failed, and return why."""
        limit = time.monotonic() + ANSWER_SECONDS
        with self.analyst() as client:
            while client.state(task)["state"] != "failed":
                assert time.monotonic() < limit, client.state(task)
                time.sleep(0.1)
            return str(client.state(task)["doing"])

    def signal(self, name: str, number: signal.Signals) -> None:
        os.kill(self.parties[name].process.pid, number)

    def counter(self, name: str, line: str) -> int:
        """Return one number of a process's metrics."""
        (value,) = [
            found.rsplit(" ", 1)[1]
            for found in self.ask(name, "/metrics", key_of("metrics")).decode().splitlines()
            if found.rsplit(" ", 1)[0] == line
        ]
        return int(float(value))


def listening_port(process: Supervised) -> int:
    """Wait until a process says where it listens."""
    limit = time.monotonic() + START_SECONDS
    while time.monotonic() < limit and process.process.poll() is None:
        for line in process.lines():
            if line.startswith("{") and (told := json.loads(line))["event"] == "listening":
                return int(told["port"])
        time.sleep(0.05)
    raise AssertionError(process.lines())
