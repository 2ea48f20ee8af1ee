"""The pages of a server: parties and queries at a glance, one query live, the public log.

They call what the endpoints call, so a page can do nothing that the API cannot.
"""

import json
import re
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, TypeVar, cast

from starlette.responses import Response
from starlette.routing import BaseRoute

from treetop.adapters.http.problem_details import Problem
from treetop.answers.answer import Answer
from treetop.answers.parts import CampaignPlace, ItemChange
from treetop.errors import TreetopError
from treetop.federation.task import LAST_SECOND
from treetop.services.server.app import ServerContext, refusal, unanswered
from treetop.services.server.query_manager import QueryManager
from treetop.services.server.settings import ServerSettings
from treetop.web.answer_pages import Digests, add_answers, recorded_audit
from treetop.web.answer_view import AnswerView, view_of
from treetop.web.order_pages import OrderPages
from treetop.web.query_view import REFUSAL_KINDS, VERDICT_KINDS, drawn_tree, party_rows, progress_of
from treetop.web.sessions import Sessions
from treetop.web.site import Link, Site, Visit, address

TITLE = "Treetop server"
LINKS = (Link("/", "Overview"), Link("/new", "New query"), Link("/log", "Log"))
NEWEST = 50
MAX_VIEWS = 200
"""Rendered pictures and answers that are kept for the next visitor."""
Made = TypeVar("Made")
SOON_DAYS = 14
"""A certificate that ends within this number of days is marked."""
_DIGEST = re.compile("[0-9a-f]{64}")
_BITS = re.compile("[01]{0,256}")


class ServerPages:
    """The pages of analysts, operators and privacy officers."""

    def __init__(self, context: ServerContext, settings: ServerSettings, site: Site) -> None:
        self._context = context
        self._settings = settings
        self._site = site
        self._views: dict[Hashable, Any] = {}

    @property
    def _queries(self) -> QueryManager:
        return self._context.queries

    def add_to(self, site: Site) -> None:
        """Add all pages."""
        site.add("GET", "/", self.overview)
        site.add("GET", "/log", self.log)
        site.add("GET", "/log/{task}", self.task_log)
        site.add("GET", "/queries/{task}", self.query)
        site.add("GET", "/queries/{task}/standing", self.standing)
        site.add("GET", "/queries/{task}/progress", self.progress)
        site.add("GET", "/queries/{task}/tree", self.tree)
        site.add("GET", "/queries/{task}/events", self.events)
        recorded = self._settings.audit_report
        add_answers(
            site, "/queries/{task}", self.answer, digests_of=self.digests, audit=lambda: recorded_audit(recorded)
        )

    def overview(self, visit: Visit) -> Response:
        """Show parties and queries; with htmx, their state alone."""
        queries = self._queries.states()
        now = datetime.now(UTC).timestamp()
        parties = [
            (
                party,
                _day(party.certificate_end),
                party.certificate_end is not None and party.certificate_end < now + SOON_DAYS * 86400,
            )
            for party in self._context.watch.parties()
        ]
        return self._site.shown(
            visit,
            "overview_parts.html.jinja" if visit.part_only else "overview.html.jinja",
            parties=parties,
            queries=queries[-NEWEST:][::-1],
            older=max(0, len(queries) - NEWEST),
            campaigns=[(each, _day(each.over)) for each in self._context.campaigns.states()[::-1]],
        )

    def query(self, visit: Visit) -> Response:
        """Show one query: its progress, and its answer once there is one."""
        task = _task(visit)
        return self._site.shown(
            visit,
            "query.html.jinja",
            task=self._queries.task(task),
            focus="",
            view=self._view(visit),
            **self._progress(task),
            **self._tree(task, ""),
        )

    def standing(self, visit: Visit) -> Response:
        """Show reports against the plan and verdicts, party by party, as they are at the moment."""
        task = _task(visit)
        order = self._queries.order(task)
        signed = self._queries.task(task)
        rows = party_rows(signed, self._queries.events(task), self._context.watch.standing(order, task))
        refused = [kind for kind in REFUSAL_KINDS if any(row.verdicts.get(kind) for row in rows)]
        kinds = (*VERDICT_KINDS, *refused)
        return self._site.shown(visit, "query_parties.html.jinja", rows=rows, task=signed, kinds=kinds)

    def progress(self, visit: Visit) -> Response:
        """Show steps, levels and the last lines of the log; reload the page of a query that has ended since."""
        task = _task(visit)
        shown = self._site.shown(visit, "query_progress.html.jinja", **self._progress(task))
        if self._queries.state(task).state != visit.field("state", "running"):
            shown.headers["HX-Refresh"] = "true"
        return shown

    def tree(self, visit: Visit) -> Response:
        """Show the trie, as a whole or below one prefix."""
        focus = visit.field("focus")
        if not _BITS.fullmatch(focus):
            raise Problem(422, "focus: expected a prefix in bits, 256 at most")
        task = _task(visit)
        values = {"focus": focus, "query": self._queries.state(task), **self._tree(task, focus)}
        template = "query_tree.html.jinja" if visit.part_only else "query_tree_alone.html.jinja"
        return self._site.shown(visit, template, **values)

    def events(self, visit: Visit) -> Response:
        """Follow a query, as the endpoint of the API does."""
        seen = visit.request.headers.get("last-event-id")
        return self._context.streams.response(_task(visit), seen, lambda: self._site.knows(visit.request))

    def log(self, visit: Visit) -> Response:
        """Show every task that was signed."""
        tasks = [(query, self._queries.task(query.task)) for query in self._queries.states()[::-1]]
        return self._site.shown(visit, "log.html.jinja", tasks=tasks, key=self._context.public_key)

    def task_log(self, visit: Visit) -> Response:
        """Show the signed documents of one task, and the command that verifies them."""
        digest = _task(visit)
        signed = [("task", "", json.loads(self._queries.document(digest)))]
        for document in map(json.loads, self._queries.log(digest)):
            listed = json.loads(document["content"])
            about = (
                f"{listed['party']}, level {listed['level']}, {listed['role']}: {len(listed['prefixes']):,} candidates"
            )
            signed.append(("list", about, document))
        key = self._context.public_key
        command = f"treetop server verify --server {visit.service_url} --task {digest} --server-key {key}"
        return self._site.shown(
            visit, "task_log.html.jinja", query=self._queries.state(digest), signed=signed, command=command
        )

    def answer(self, visit: Visit) -> Answer:
        """Return the answer that a visit asks for, for its exports."""
        task = _task(visit)
        document = self._queries.result(task)
        if document is None:
            raise unanswered(self._queries.state(task))
        answer = Answer.from_json(json.loads(document))
        return answer if answer.campaign is None else replace(answer, campaign=self._changes(answer.campaign, task))

    def _changes(self, place: CampaignPlace, task: str) -> CampaignPlace:
        """Return the week of an answer with its changes, which only a comparison with earlier weeks gives."""
        weeks = self._context.campaigns.state(place.campaign).answers
        found = next((week for week in weeks if week.task == task), None)
        if found is None:
            return place
        marked = [ItemChange(row.item, row.change, row.score) for row in found.items]
        gone = [ItemChange(item, "gone", None) for item in found.gone]
        return replace(place, compared_with=found.compared_with, changes=(*marked, *gone))

    def digests(self, visit: Visit) -> Digests:
        """Return the facts that only the server has: its key, the list of items, and the deadline of reports."""
        task = self._queries.task(_task(visit))
        listed = [("List of items", task.item_list)] if task.item_list else []
        last = task.deadlines.reports
        end = "no date was set" if last == LAST_SECOND else f"{datetime.fromtimestamp(last, UTC):%Y-%m-%d %H:%M} UTC"
        return [*listed, ("The server's key", self._context.public_key), ("Reports until", end)]

    def _view(self, visit: Visit) -> AnswerView | None:
        task = _task(visit)
        if self._queries.result(task) is None:
            return None
        return self._kept(("answer", task), lambda: view_of(self.answer(visit), address(f"/queries/{task}/answer")))

    def _progress(self, task: str) -> Mapping[str, Any]:
        state = self._queries.state(task)
        signed = self._queries.task(task)
        listed = self._queries.order(task).listed
        events = self._queries.events(task)
        about = "progress", task, len(events), state.state
        return {
            "query": state,
            "progress": self._kept(about, lambda: progress_of(signed, listed, events, state.state)),
        }

    def _tree(self, task: str, focus: str) -> Mapping[str, Any]:
        levels = self._queries.grown(task)
        about = ("tree", task, len(self._queries.events(task)), focus)
        drawn = self._kept(about, lambda: drawn_tree(levels, address(f"/queries/{task}/tree"), focus))
        return {"tree": drawn, "levels": levels}

    def _kept(self, about: Hashable, make: Callable[[], Made]) -> Made:
        """Return what was made of the same facts before: any number of open pages cost one rendering."""
        if about not in self._views:
            if len(self._views) >= MAX_VIEWS:
                self._views.clear()
            self._views[about] = make()
        return cast(Made, self._views[about])


def server_pages(context: ServerContext, settings: ServerSettings) -> Sequence[BaseRoute]:
    """Return the routes of a server's pages; an admin key opens them."""
    sessions = Sessions(TITLE, context.keys, "admin", secure=settings.tls is not None or settings.trusted_proxy)

    def refused(error: Exception) -> Problem:
        if isinstance(error, TreetopError):
            context.note(error)
            return refusal(error)
        context.log.failure("internal_error", error)
        return Problem(500, "internal error")

    site = Site(TITLE, LINKS, sessions, refused)
    sessions.add_to(site)
    ServerPages(context, settings, site).add_to(site)
    OrderPages(context, settings, site)
    return site.routes()


def _task(visit: Visit) -> str:
    task: str = visit.request.path_params["task"]
    if not _DIGEST.fullmatch(task):
        raise Problem(404, "a query is named by 64 hexadecimal digits")
    return task


def _day(seconds: int | None) -> str:
    return "" if seconds is None else f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"
