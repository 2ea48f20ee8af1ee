"""The page of a party, for its own people: devices, reports, tickets, its store, its keys. Numbers alone.

Neither a value, a ticket nor an address is on it, because nothing it calls returns one.
"""

import time
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from starlette.responses import Response
from starlette.routing import BaseRoute

from treetop.adapters.http.problem_details import Problem, problem_of
from treetop.errors import TreetopError
from treetop.federation.party.party import OpenTask
from treetop.services.party.context import PartyContext
from treetop.services.party.settings import PartySettings
from treetop.trie.user_groups import Role
from treetop.web.sessions import Sessions
from treetop.web.site import Link, Site, Visit

ROLES = {
    Role.ESTIMATE: "estimate",
    Role.VALIDATE_INFREQUENT: "validate infrequent",
    Role.VALIDATE_FREQUENT: "validate frequent",
}
NEWEST = 50
"""Tasks that are shown in full; older ones are counted."""


class PartyPages:
    """The page of a party's own people."""

    def __init__(self, context: PartyContext, settings: PartySettings, site: Site) -> None:
        self._context = context
        self._settings = settings
        self._site = site
        self._begun = time.time()

    def overview(self, visit: Visit) -> Response:
        """Show the whole page; with htmx, its numbers alone."""
        tasks = list(self._context.party.tasks.values())
        hours = self._context.standing.hours()
        return self._site.shown(
            visit,
            "party_numbers.html.jinja" if visit.part_only else "party.html.jinja",
            standing=self._context.standing.of_party(),
            tasks=[self._task(opened) for opened in tasks[-NEWEST:][::-1]],
            older=max(0, len(tasks) - NEWEST),
            waiting=self._context.metrics.waiting,
            hours=[(_moment(hour), reports) for hour, reports in hours.items()][-24:][::-1],
            most=max(hours.values(), default=1),
            begun=_moment(self._begun),
            store=str(self._settings.store_location),
            keys=self._keys(),
            signing=[key[:16] for key in self._settings.server_signing_keys],
        )

    def _task(self, opened: OpenTask) -> dict[str, Any]:
        task = opened.task
        counted = self._context.standing.of_task(opened)
        groups = sorted(self._context.standing.groups(opened).items(), key=lambda pair: (pair[0].level, pair[0].role))
        return {
            "name": task.name,
            "digest": task.digest.hex(),
            "state": opened.state,
            "one_shot": task.one_shot,
            "epsilon": task.budget.text,
            "deadline": _moment(task.deadlines.reports),
            "counted": counted,
            "groups": [(group.level, ROLES[group.role], reports) for group, reports in groups],
        }

    def _keys(self) -> list[tuple[str, str, str, str]]:
        """Return role, state, age and end of every key, and nothing of the key itself."""
        now = datetime.now(UTC)
        rows = []
        for caller, key in self._context.keys.entries():
            age = f"{(now - key.not_before).days} days" if key.not_before and key.not_before <= now else "not told"
            end = f"{key.not_after:%Y-%m-%d %H:%M} UTC" if key.not_after else "never"
            rows.append((caller.replace("_", " "), key.state(now), age, end))
        return rows


def party_pages(context: PartyContext, settings: PartySettings) -> Sequence[BaseRoute]:
    """Return the routes of a party's page; the key of its own back end opens it."""
    title = f"Treetop party {settings.name}"
    sessions = Sessions(title, context.keys, "back_end", secure=settings.tls is not None or settings.trusted_proxy)

    def refusal(error: Exception) -> Problem:
        if isinstance(error, TreetopError):
            context.note(error)
            return problem_of(error)
        context.log.failure("internal_error", error)
        return Problem(500, "internal error")

    site = Site(title, [Link("/", "Party")], sessions, refusal)
    sessions.add_to(site)
    site.add("GET", "/", PartyPages(context, settings, site).overview)
    return site.routes()


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
