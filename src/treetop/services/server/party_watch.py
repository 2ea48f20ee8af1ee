"""Run by the server: how its parties are at the moment. Nothing here is kept, and no query waits for it.

Parties are asked several at a time; what they said is said again for a while, however many look.
"""

import json
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import Any, TypeVar

from pydantic import ValidationError

from treetop.adapters.http.retrying_connection import Request, RetryingConnection, RetryPolicy
from treetop.errors import PartyUnreachable, PeerViolation
from treetop.federation.server.planning import QueryOrder
from treetop.federation.wire.uploads import Refusal
from treetop.public_text import visible
from treetop.services.server.party_channel import several_at_a_time
from treetop.services.server.schemas import PartyShown, TaskAtParty
from treetop.toml_files import Secret

GLANCE = RetryPolicy(in_all=0.0, answer_within=3.0)
"""Somebody waits in front of a page: a party that is away is shown as away."""
SAID_AGAIN_SECONDS = 2.0
FORGOTTEN_SECONDS = 60.0
MAX_BYTES = 1 << 16
AT_A_TIME = 32
Shown = TypeVar("Shown")


@dataclass(frozen=True)
class WatchedParty:
    """How a party is reached, and how many users it should have."""

    open: Callable[[], RetryingConnection]
    key: Secret
    expected_users: int | None = None


class PartyWatch:
    """Looks at parties for people."""

    def __init__(self, parties: Mapping[str, WatchedParty], monotonic: Callable[[], float] = time.monotonic) -> None:
        self._parties = parties
        self._monotonic = monotonic
        self._known: dict[Hashable, tuple[float, list[Any]]] = {}
        self._lock = Lock()

    def parties(self) -> list[PartyShown]:
        """Return how every party is."""
        return self._again("parties", lambda: list(several_at_a_time(self._party, list(self._parties), AT_A_TIME)))

    def standing(self, order: QueryOrder, task: str) -> list[TaskAtParty]:
        """Return how far a task is at each of its parties."""
        expected = order.expectations.users

        def at(name: str) -> TaskAtParty:
            return self._task(name, task, expected.get(name))

        return self._again(task, lambda: list(several_at_a_time(at, order.parties, AT_A_TIME)))

    def _again(self, about: Hashable, look: Callable[[], list[Shown]]) -> list[Shown]:
        """Look, unless that was done just now; while somebody looks, others are shown what was seen before."""
        until, shown = self._known.get(about, (0.0, None))
        if self._monotonic() < until or not self._lock.acquire(blocking=shown is None):
            return shown or []
        try:
            until, shown = self._known.get(about, (0.0, None))
            if self._monotonic() >= until or shown is None:
                shown = look()
                now = self._monotonic()
                fresh = {each: known for each, known in self._known.items() if known[0] > now - FORGOTTEN_SECONDS}
                self._known = {**fresh, about: (now + SAID_AGAIN_SECONDS, shown)}
            return shown
        finally:
            self._lock.release()

    def _party(self, name: str) -> PartyShown:
        expected = self._parties[name].expected_users
        try:
            standing, end = self._read(name, "/v1/standing")
            return PartyShown(
                name=name,
                reachable=True,
                expected_users=expected,
                version=visible(standing["version"]),
                problem="; ".join(f"task {task}: store damaged" for task in standing["damaged"]),
                devices=standing["tickets"],
                reports_today=standing["reports_today"],
                certificate_end=end,
                refusals=_refusals(standing),
            )
        except PartyUnreachable as away:
            return PartyShown(name=name, reachable=False, problem=_silence(away), expected_users=expected)
        except (PeerViolation, ValidationError, KeyError, TypeError):
            return PartyShown(name=name, reachable=True, problem="it does not say how it is", expected_users=expected)

    def _task(self, name: str, task: str, expected: int | None) -> TaskAtParty:
        if name not in self._parties:
            return TaskAtParty(party=name, expected=expected, problem="the settings do not name it any more")
        try:
            standing, _ = self._read(name, f"/v1/tasks/{task}/standing")
            return TaskAtParty(
                party=name,
                expected=expected,
                problem="",
                tickets=standing["tickets"],
                enrolled=standing["enrolled"],
                reports=standing["reports"],
                verdicts=standing["verdicts"],
                refusals=_refusals(standing),
            )
        except PartyUnreachable as away:
            return TaskAtParty(party=name, expected=expected, problem=_silence(away))
        except (PeerViolation, ValidationError, KeyError, TypeError):
            return TaskAtParty(party=name, expected=expected, problem="it does not know the task yet")

    def _read(self, name: str, path: str) -> tuple[dict[str, Any], int | None]:
        """Return what a party says of itself, and when its certificate ends."""
        party = self._parties[name]
        connection = party.open()
        try:
            headers = {"Authorization": f"Bearer {party.key.reveal().decode('ascii')}"}
            reply = connection.ask(Request("GET", path, headers=headers, max_bytes=MAX_BYTES))
            if reply.status != 200:
                raise PeerViolation(f"answer of party {name!r}", "status 200", reply.status)
            try:
                standing: dict[str, Any] = json.loads(reply.body)
            except (ValueError, RecursionError):
                raise PeerViolation(f"answer of party {name!r}", "JSON", "something else") from None
            return standing, connection.certificate_end
        finally:
            connection.close()


def _silence(away: PartyUnreachable) -> str:
    return visible(f"does not answer ({away.reason})")


def _refusals(standing: Mapping[str, Any]) -> dict[str, int]:
    """Return refusals by the codes that are known."""
    return {code.value: standing["refusals"][code] for code in Refusal if code in standing["refusals"]}
