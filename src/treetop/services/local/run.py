"""A federation on this machine: its query, and the way from its first process to its answer; any process may die."""

import json
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from treetop.adapters.http.retrying_connection import Request, RetryingConnection, RetryPolicy
from treetop.adapters.system.durable_file import content_of, replace_durably
from treetop.datasets.loading import USER
from treetop.errors import PartyUnreachable, QueryFailed
from treetop.federation.device.ledger import Caps
from treetop.federation.server.order_json import order_to_json
from treetop.federation.server.planning import QueryOrder
from treetop.federation.task import Deadlines, LeastReports
from treetop.federation.wire.item_lists import ItemList
from treetop.privacy.budget import Budget
from treetop.secret_files import private_folder
from treetop.services.device.party_client import PartyClient
from treetop.services.local.flower import FlowerCarrier
from treetop.services.local.folder import HOST, MIN_REPORTS, FederationFolder, LocalOptions, PartyHome, secret_in
from treetop.services.local.processes import Processes, Supervised, free_ports
from treetop.services.local.survey import SurveyPlan, SurveyTask
from treetop.services.server.client import ServerClient
from treetop.wording import Note

DAYS_30 = 30 * 86400
CAPS = Caps()


def local_notes(options: LocalOptions, users: int) -> list[Note]:
    """Note what differs in a deployment, and where fewer users take part than were asked for."""
    notes = [Note("local_reports_lowered", reports=MIN_REPORTS)]
    if Budget(options.epsilon).amount > CAPS.per_task:
        notes.append(Note("local_epsilon_allowed", epsilon=options.epsilon, usual=str(CAPS.per_task)))
    if users < options.users:
        notes.append(
            Note("fewer_users_than_asked", asked=options.users, users=users, parties=options.parties, data=options.data)
        )
    return notes


def _label(data: str) -> str:
    """Return what everybody may read of where the data are: a file's name, without folders, or a database's."""
    return data.partition("?")[0].rstrip("/").rpartition("/")[2] or "data"


def order_of(
    options: LocalOptions,
    users: Mapping[str, int],
    listed: ItemList | None = None,
    opens: int = 0,
    collect: int = DAYS_30,
) -> QueryOrder:
    """Return the order: the largest party first, a deadline that nobody reaches unless a survey has one."""
    return QueryOrder(
        f"{_label(options.data)} on this machine",
        tuple(sorted(users, key=lambda name: (-users[name], name))),
        options.asked(listed),
        attribute=_label(options.data),
        mode=options.mode,
        expected=users,
        deadlines=Deadlines(opens, opens + collect, opens + collect),
        least=LeastReports(MIN_REPORTS, MIN_REPORTS),
    )


Found = TypeVar("Found")
POLL_SECONDS = 0.25
STAY_SECONDS = 1.0
SHORT = RetryPolicy(in_all=0.0, answer_within=30.0)
"""Whoever does not answer may have died: look after the processes before trying again."""
WAITING_SECONDS = 60.0
TICKETS_AT_ONCE = 50_000
PARTY_PROCESSES = 8
"""More parties share processes: each process takes 150 MB before a report is there, and a second of a core to start."""
FLEETS_AT_ONCE = 8
"""Fleets of a one-shot task at work together: the machine has few cores, and each takes memory. In rounds all of them
are needed, since a level waits for every party."""


@dataclass(frozen=True)
class Standing:
    """How far a federation is."""

    reported: dict[str, tuple[int, int]]
    """For every party, devices that have reported and devices in all."""
    query: dict[str, Any]
    """What the server says of the query."""


class LocalFederation:
    """Processes of one folder."""

    def __init__(
        self,
        folder: FederationFolder,
        processes: Processes,
        survey: SurveyPlan | None = None,
        carrier: FlowerCarrier | None = None,
    ) -> None:
        self.folder = folder
        self.processes = processes
        self._survey = survey
        self._carrier = carrier
        names = list(folder.parties)
        server_port, *ports = free_ports(1 + len(names))
        self._urls = {name: f"http://{HOST}:{port}" for name, port in zip(names, ports, strict=True)}
        self._server_url = f"http://{HOST}:{server_port}"
        origins = survey.origins if survey else ()
        carried = carrier.prepare(folder, self._urls) if carrier else None
        folder.write_settings(
            dict(zip(names, ports, strict=True)),
            server_port,
            to_deadline=survey is not None,
            origins=origins,
            carried=carried,
        )
        self.fleets: dict[str, Supervised] = {}
        """Of the folder's own task, by party, once they have begun."""
        self._due: deque[Callable[[], Supervised]] = deque()
        """What begins a fleet when others are done."""
        self._at_work: list[Supervised] = []
        self._played: set[str] = set()
        """Tasks that users of this machine answer."""

    @property
    def page(self) -> str:
        """Return the address of the server's page."""
        return f"{self._server_url}/page/"

    def start(self) -> None:
        """Start the server and every party, and wait until they listen."""
        self._serve("server", self.folder.path / "server" / "server.toml")
        homes = list(self.folder.parties.values())
        together = -(-len(homes) // PARTY_PROCESSES)
        for first in range(0, len(homes), together):
            self._serve("party", *(home.path / "party.toml" for home in homes[first : first + together]))
        if self._carrier:
            self._carrier.start(self.processes)
        for url in (self._server_url, *self._urls.values()):
            self._wait_for(url)
        key = secret_in(self.folder.path / "server", "admin")
        self.server = ServerClient(RetryingConnection(self._server_url, retry=SHORT), key)

    def ask(self) -> str:
        """Order the query, unless that was done before; return the digest of its task."""
        if self.folder.task is None:
            users = {name: home.users for name, home in self.folder.parties.items()}
            listed = self.folder.listed
            collect = self._survey.seconds if self._survey else DAYS_30
            order = order_to_json(order_of(self.folder.options, users, listed, int(time.time()), collect))
            if listed is not None:
                self.tried(lambda: self.server.keep_list(listed), "the server took no list")
            self.folder.remember_task(self.tried(lambda: self.server.order(order), "the server took no order"))
        return self.folder.task or ""

    def play(self) -> None:
        """Let every party's users report, each with a ticket of her own; `follow` begins those that must wait."""
        task = self.folder.task or ""
        self._played.add(task)
        for name, home in self.folder.parties.items():
            self._due.append(partial(self._own_fleet, name, home, task))
        self._begin_fleets(all_at_once=self.folder.options.mode == "rounds")

    def _own_fleet(self, name: str, home: PartyHome, task: str) -> Supervised:
        self.fleets[name] = self._fleet(name, home, task, self.folder.options.epsilon, home.path / "fleet")
        return self.fleets[name]

    def _begin_fleets(self, *, all_at_once: bool = False) -> None:
        """Begin as many of the fleets that are due as may be at work together."""
        self._at_work = [fleet for fleet in self._at_work if not fleet.finished]
        while self._due and (all_at_once or len(self._at_work) < FLEETS_AT_ONCE):
            self._at_work.append(self._due.popleft()())

    def follow(self, progress: Callable[[Standing], None]) -> dict[str, Any]:
        """Return the answer once it is there; start again what dies on the way."""
        task = self.folder.task or ""
        while True:
            standing, found = self.tried(lambda: self._standing(task), "the server did not answer")
            progress(standing)
            if found is not None:
                return found
            self.processes.revive()
            self._begin_fleets()
            time.sleep(POLL_SECONDS)

    def stay(self, pause: Callable[[float], None] = time.sleep) -> None:
        """Go on until Ctrl-C; another query that somebody orders is answered by users drawn anew from the same data."""
        try:
            while True:
                known = self.tried(self.server.queries, "the server did not answer")
                for task in (query["task"] for query in known if query["state"] == "running"):
                    if task not in self._played:
                        self._play_also(task)
                self._begin_fleets()
                pause(STAY_SECONDS)
        except KeyboardInterrupt:
            return

    def _play_also(self, task: str) -> None:
        """Let fresh users report for a task that was ordered on the page."""
        self._played.add(task)
        ordered = self.tried(lambda: self.server.task(task), "the server gave no task")
        for name, home in self.folder.parties.items():
            if name in ordered.parties:
                state = home.path / f"fleet_{task[:16]}"
                private_folder(state)
                self._due.append(partial(self._fleet, name, home, task, ordered.budget.text, state))
        self._begin_fleets(all_at_once=not ordered.one_shot)

    def _standing(self, task: str) -> tuple[Standing, dict[str, Any] | None]:
        found = self.server.result(task)
        query = self.server.state(task)
        if query["state"] == "failed":
            raise QueryFailed("query_failed", doing=query["doing"])
        return Standing(self.reported(), query), found

    def reported(self) -> dict[str, tuple[int, int]]:
        """Return for every party how many of its devices have reported, and how many it has."""
        return {name: _progress(self.fleets.get(name), home.users) for name, home in self.folder.parties.items()}

    def _serve(self, role: str, *settings: Path) -> None:
        """Start the server, or the parties of one process, whose log lies with the first of them."""
        named = [word for path in settings for word in ("--settings", str(path))]
        name = settings[0].parent.name + (f" and {len(settings) - 1} more" if len(settings) > 1 else "")
        self.processes.start(name, [role, *named], settings[0].with_name("log.jsonl"))

    def _wait_for(self, url: str) -> None:
        connection = RetryingConnection(url, retry=SHORT)
        self.tried(lambda: connection.ask(Request("GET", "/v1/health")), f"{url} did not listen")
        connection.close()

    def tried(self, call: Callable[[], Found], otherwise: str) -> Found:
        """Return what a call returns once somebody answers; start again what dies meanwhile."""
        end = time.monotonic() + WAITING_SECONDS
        while True:
            self.processes.revive()
            try:
                return call()
            except PartyUnreachable as away:
                if time.monotonic() > end:
                    raise QueryFailed(
                        "waited_too_long", otherwise=otherwise, waiting_seconds=WAITING_SECONDS, reason=away.reason
                    ) from None
            time.sleep(POLL_SECONDS)

    def keep_tickets(self, name: str, home: PartyHome, task: str, file: Path) -> None:
        """Write a ticket of a task for every user of a party to a file, unless that was done before."""
        if content_of(file) is None:
            replace_durably(file, self._tickets(name, home, task))

    def _fleet(self, name: str, home: PartyHome, task: str, epsilon: str, state: Path) -> Supervised:
        tickets = state / "tickets.txt"
        self.keep_tickets(name, home, task, tickets)
        return self.fleet(name, home, state, epsilon, "--task", task, "--tickets", str(tickets))

    def fleet(self, name: str, home: PartyHome, state: Path, epsilon: str, *what: str) -> Supervised:
        """Start the devices of a party: `what` says for which task, and where their tickets are."""
        arguments = [
            "device",
            "fleet",
            "--party",
            self._urls[name],
            *what,
            "--data",
            str(self.folder.holdings),
            "--party-name",
            name,
            "--server-key",
            self.folder.signing_key.public,
            "--state",
            str(state),
            "--json",
            "--epsilon-cap",
            epsilon,
            "--lifetime-cap",
            epsilon,
            *(() if self.folder.options.user_column is None else ("--user-column", USER)),
        ]
        return self.processes.start(f"{home.path.name} {state.name}", arguments, state / "log.jsonl")

    def asked_people(self) -> SurveyTask:
        """Return what the page of a survey must know: people answer at the first party."""
        name, home = next(iter(self.folder.parties.items()))
        self._wait_for_task(name, self.folder.task or "")
        items = sorted(self.folder.federation().items)
        key = self.folder.signing_key.public
        return SurveyTask(
            self.folder.task or "", name, self._urls[name], key, tuple(items), (home.path / "back_end.key").absolute()
        )

    def one_ticket(self) -> str:
        """Return a ticket for a person; any thread may ask."""
        name, home = next(iter(self.folder.parties.items()))
        client = PartyClient(RetryingConnection(self._urls[name], retry=SHORT))
        try:
            key = secret_in(home.path, "back_end")
            (ticket,) = client.tickets(bytes.fromhex(self.folder.task or ""), 1, key)
        finally:
            client.close()
        return ticket.text

    def _wait_for_task(self, name: str, task: str) -> None:
        client = PartyClient(RetryingConnection(self._urls[name], retry=SHORT))
        while task not in {offered.digest.hex() for offered in self.tried(client.tasks, f"{name} did not answer")}:
            time.sleep(POLL_SECONDS)
        client.close()

    def _tickets(self, name: str, home: PartyHome, task: str) -> bytes:
        self._wait_for_task(name, task)
        client = PartyClient(RetryingConnection(self._urls[name], retry=SHORT))
        digest = bytes.fromhex(task)
        key = secret_in(home.path, "back_end")
        otherwise = f"{name} gave no tickets"
        tickets: list[str] = []
        while len(tickets) < home.users:
            count = min(TICKETS_AT_ONCE, home.users - len(tickets))
            tickets += [ticket.text for ticket in self.tried(lambda: client.tickets(digest, count, key), otherwise)]  # noqa: B023
        client.close()
        return "\n".join(tickets).encode("ascii") + b"\n"


def _progress(fleet: Supervised | None, users: int) -> tuple[int, int]:
    """Return what the last line of a fleet's log says of its reports; one that has not begun has sent none."""
    if fleet is None:
        return 0, users
    if fleet.finished:
        return users, users
    try:
        said = json.loads(fleet.last_words())
        return int(said["sent"] if "sent" in said else sum(said["verdicts"].values())), users
    except (ValueError, TypeError, KeyError, AttributeError):
        return 0, users
