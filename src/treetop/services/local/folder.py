"""The folder of a local federation: what was asked, its users, keys, settings files and stores; it is kept."""

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from treetop.adapters.system.durable_file import content_of, replace_durably
from treetop.adapters.system.key_files import SigningKey
from treetop.datasets.federation import Federation
from treetop.datasets.loading import USER, histogram_file, histogram_rows, load, set_rows
from treetop.errors import InvalidInput
from treetop.federation.server.order_json import query_from_json, query_to_json
from treetop.federation.wire.item_lists import ItemList
from treetop.mechanisms.deployment import Mode
from treetop.mechanisms.query import Query
from treetop.secret_files import private_folder, read_secret

HOST = "127.0.0.1"
MIN_REPORTS = 50
"""On one machine small federations are played: the least number of reports is lowered, and the answer says so."""
VERSION = 1
LIST_FILE = "items.list"
KEY_BYTES = 32


@dataclass(frozen=True)
class LocalOptions:
    """What a local federation was asked; it does not change while it lives."""

    data: str = "syn"
    parties: int = 3
    users: int = 50_000
    """In all parties together, as many as the data have at most."""
    query: Mapping[str, Any] = field(default_factory=lambda: query_to_json(Query()))
    """What is asked, as orders write it; its list lies in the folder."""
    mode: Mode = "one-shot"
    seed: int = 0
    """Of the choice of users alone: reports are perturbed with the operating system's randomness."""
    user_column: str | None = None
    """Users hold sets: the column of the data that says whose a row is; in the folder's own file it is `user`."""
    rows_are_users: bool = False
    weeks: int | None = None
    """A campaign: the weeks of its one cycle; None: one question."""
    every: int | None = None
    """A campaign: seconds of a week; None: what this machine needs."""
    drift: float | None = None
    """A campaign: how many of the k most popular items change from week to week."""

    @property
    def epsilon(self) -> str:
        """Return the epsilon of every device's report."""
        return str(self.query["epsilon"])

    def asked(self, listed: ItemList | None) -> Query:
        """Return the query, given its list."""
        lists = {} if listed is None else {listed.digest: listed}
        return query_from_json(self.query, lists.__getitem__)


class FederationFolder:
    """Everything that outlasts the processes of one federation."""

    def __init__(self, path: Path) -> None:
        self.path = path
        state = _read_state(path)
        self.options = LocalOptions(**state["options"])
        self.task: str | None = state["task"]
        """The digest of the signed task, or campaign, once the server has it."""

    @classmethod
    def begin(
        cls, path: Path, options: LocalOptions, federation: Federation, listed: ItemList | None = None
    ) -> "FederationFolder":
        """Lay a folder out: users, a list, keys, options; the options last, so that a half one is begun again."""
        server = path / "server"
        private_folder(server)
        if listed is not None:
            replace_durably(path / LIST_FILE, listed.document)
        rows = set_rows(federation) if federation.holds_sets else histogram_rows(federation)
        replace_durably(path / "data.parquet", histogram_file(rows))
        if not (server / "signing.key").exists():
            SigningKey.generate().save(server / "signing.key")
        _new_secrets(server, "admin")
        for index, party in enumerate(federation.parties):
            home = path / home_of(index, party.name)
            private_folder(home / "fleet")
            _new_secrets(home, "tickets", "server", "back_end")
        _write_state(path, options, None)
        return cls(path)

    @staticmethod
    def is_one(path: Path) -> bool:
        """Return whether a federation was begun there."""
        return (path / "federation.json").exists()

    def remember_task(self, digest: str) -> None:
        """Keep the task, or the campaign, that the server has signed."""
        _write_state(self.path, self.options, digest)
        self.task = digest

    @cached_property
    def listed(self) -> ItemList | None:
        """Return the catalogue or the word list, if there is one."""
        digest = self.options.query["catalogue"] or self.options.query["word_list"]
        return ItemList.from_document(content_of(self.path / LIST_FILE) or b"", digest) if digest else None

    def federation(self) -> Federation:
        """Return the users, as they were drawn."""
        return load(self.path / "data.parquet", user=None if self.options.user_column is None else USER)

    def hand_out(self, federation: Federation) -> None:
        """Write down what the users of a campaign hold from now on."""
        rows = set_rows(federation) if federation.holds_sets else histogram_rows(federation)
        replace_durably(self.holdings, histogram_file(rows))

    @property
    def holdings(self) -> Path:
        """Return the file that says what users hold: as they were drawn, or in a campaign what they hold this week."""
        return self.path / ("data.parquet" if self.options.weeks is None else "this_week.parquet")

    def write_settings(
        self,
        ports: Mapping[str, int],
        server_port: int,
        *,
        to_deadline: bool = False,
        origins: Sequence[str] = (),
        carried: Mapping[str, str] | None = None,
    ) -> None:
        """Write all settings files anew: ports are free ones of today, and pages of these origins may report.

        The server reaches parties at their ports, or at the addresses of who carries its messages.
        """
        server = server_settings(server_port)
        for name, home in self.parties.items():
            text = party_settings(name, ports[name], self.signing_key.public, to_deadline=to_deadline, origins=origins)
            replace_durably(home.path / "party.toml", text.encode("utf-8"))
            url = carried[name] if carried else f"http://{HOST}:{ports[name]}"
            server += (
                f"\n[[parties]]\nname = {quoted(name)}\nurl = {quoted(url)}\n"
                f"key_file = {quoted(f'../{home.path.name}/server.key')}\n"
            )
        replace_durably(self.path / "server" / "server.toml", server.encode("utf-8"))

    @property
    def signing_key(self) -> SigningKey:
        """Return the server's key."""
        return SigningKey.load(self.path / "server" / "signing.key")

    @cached_property
    def parties(self) -> dict[str, "PartyHome"]:
        """Return where each party lives and how many devices it has."""
        parties = self.federation().parties
        homes = (self.path / home_of(index, party.name) for index, party in enumerate(parties))
        return {party.name: PartyHome(home, party.total) for party, home in zip(parties, homes, strict=True)}


@dataclass(frozen=True)
class PartyHome:
    """One party's part of the folder."""

    path: Path
    users: int


def home_of(index: int, name: str) -> str:
    """Return the name of a party's folder, whatever the party is called."""
    return f"party_{index + 1}_{re.sub(r'[^A-Za-z0-9_-]', '_', name)[:40]}"


def quoted(name: str) -> str:
    """Return a name as TOML writes it: JSON's escapes, but no pairs of surrogates, which TOML does not know."""
    return json.dumps(name, ensure_ascii=False)


def secret_in(folder: Path, name: str) -> str:
    """Return a key kept in a folder."""
    return read_secret(folder / f"{name}.key").decode("ascii").strip()


def party_settings(
    name: str,
    port: int,
    signing_key: str,
    *,
    to_deadline: bool = False,
    origins: Sequence[str] = (),
    least_reports: int = MIN_REPORTS,
) -> str:
    """Return the settings file of a party that only this machine reaches; it may wait for its deadline in any case."""
    return f"""\
name = {quoted(name)}
listen = "{HOST}:{port}"
store = "reports.sqlite"
reports = "reports"
server_signing_keys = ["{signing_key}"]
ticket_secret_file = "tickets.key"
least_reports = {least_reports}
close_when_complete = {"false" if to_deadline else "true"}
allowed_origins = [{", ".join(map(quoted, origins))}]

[[server_access]]
key_file = "server.key"

[[back_end_access]]
key_file = "back_end.key"
"""


def server_settings(port: int) -> str:
    """Return the settings file of a server that only this machine reaches; the parties follow."""
    return f"""\
listen = "{HOST}:{port}"
journal = "journal.sqlite"
signing_key = "signing.key"

[[admin_access]]
key_file = "admin.key"
"""


def checked_same(options: LocalOptions, wanted: dict[str, Any]) -> None:
    """Refuse to go on with a federation under other options than it was begun with."""
    for name, value in wanted.items():
        known = options.query[name] if name in options.query else getattr(options, name)
        if value is not None and value != known:
            raise InvalidInput("federation_differs", name=name, known=known, value=value)


def _new_secrets(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / f"{name}.key"
        if not path.exists():
            replace_durably(path, os.urandom(KEY_BYTES).hex().encode("ascii") + b"\n")


def _write_state(path: Path, options: LocalOptions, task: str | None) -> None:
    state = {"version": VERSION, "options": asdict(options), "task": task}
    replace_durably(path / "federation.json", json.dumps(state, indent=1).encode("utf-8") + b"\n")


def _read_state(path: Path) -> dict[str, Any]:
    content = content_of(path / "federation.json")
    if content is None:
        raise InvalidInput("not_a_federation", path=path)
    try:
        state: dict[str, Any] = json.loads(content)
        known = set(state) == {"version", "options", "task"} and state["version"] == VERSION
        known = known and set(state["options"]) == {each.name for each in fields(LocalOptions)}
        known = known and set(state["options"]["query"]) == set(query_to_json(Query()))
    except (ValueError, TypeError, KeyError, RecursionError):
        known = False
    if not known:
        raise InvalidInput("federation_file_malformed", json=path / "federation.json")
    return state
