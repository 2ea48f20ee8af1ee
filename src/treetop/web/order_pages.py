"""The form of a new query at a server, with its plan beside it.

What is sent is an order as the API takes it, and the query manager takes it as it takes the API's.
"""

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from html import escape
from typing import Any

from pydantic import ValidationError
from starlette.responses import RedirectResponse, Response

from treetop.errors import InvalidInput, TreetopError
from treetop.federation.server.order_json import query_to_json
from treetop.federation.server.planning import QueryOrder
from treetop.federation.wire.item_lists import ItemList
from treetop.public_text import name_problem
from treetop.services.server.app import ServerContext
from treetop.services.server.query_manager import QueryManager
from treetop.services.server.schemas import OrderWanted
from treetop.services.server.settings import ServerSettings
from treetop.web.plan_view import mode_of, plan_view
from treetop.web.question_form import LIMITS, LIST_KINDS, STRATEGIES_IN_WORDS, AskedQuestion, chosen, number
from treetop.web.site import Site, Visit, address

DURATIONS = {"15m": 900, "1h": 3600, "6h": 6 * 3600, "24h": 86400, "3d": 3 * 86400, "7d": 7 * 86400}
"""How long devices may report, as --collect spells it."""
POLICIES = {"wait": "wait for it", "proceed": "go on without it"}
PATIENCE_SECONDS = 3600
FORM_SECONDS = 3600
"""A form is sent so soon after it was opened. That second stands in the order, so a form sent twice is one query."""
KEY_FILE = "admin.key"
"""Stands in the command line for the file of the reader's own key."""


class Lines(str):
    """A text of several lines, which a template writes as they are."""

    __slots__ = ()

    def __html__(self) -> str:
        """Return it escaped, but for its line ends."""
        return escape(self)


@dataclass(frozen=True)
class AskedOrder:
    """What the form asks besides the question itself; refused here if a field is not what was expected."""

    question: AskedQuestion = field(default_factory=AskedQuestion)
    name: str = ""
    attribute: str = "item"
    parties: tuple[str, ...] = ()
    """Those that were ticked; none: all."""
    expected: Mapping[str, int] = field(default_factory=dict)
    """Users of parties as the form says."""
    collect: str = "24h"
    policy: str = "wait"
    opened: int = 0
    """The second in which the form was opened."""

    @classmethod
    def read(cls, visit: Visit, known: tuple[str, ...]) -> "AskedOrder":
        """Read the form of a server that has these parties."""
        ticked = chosen(visit, "parties", known)
        users = {
            party: number(visit, f"expected {place}", 0, int) for place, party in enumerate(known) if party in ticked
        }
        collect = visit.field("collect", cls.collect)
        policy = visit.field("policy", cls.policy)
        if collect not in DURATIONS or policy not in POLICIES:
            raise InvalidInput(
                "order_choice_unknown", durations=", ".join([*DURATIONS, *POLICIES]), collect=collect, policy=policy
            )
        if not ticked:
            raise InvalidInput("no_party_ticked")
        if wrong := [party for party, said in users.items() if said < 0]:
            raise InvalidInput("party_users_negative", wrong=wrong[0])
        return cls(
            AskedQuestion.read(visit),
            visit.field("name").strip(),
            visit.field("attribute", cls.attribute).strip(),
            tuple(ticked) if len(ticked) < len(known) else (),
            {party: said for party, said in users.items() if said},
            collect,
            policy,
            number(visit, "opened", 0, int),
        )

    @cached_property
    def listed(self) -> ItemList | None:
        """Return the list as devices are given it."""
        known = self.question.known
        return None if known is None else ItemList(known.items, known.ordered, known.source)

    @property
    def wanted(self) -> OrderWanted:
        """Return the order that the API would be sent."""
        for what, text in (("name", self.name), ("attribute", self.attribute)):
            if problem := name_problem(text):
                raise InvalidInput("order_text_malformed", what=what, problem=problem)
        until = self.opened + DURATIONS[self.collect]
        content = {
            "name": self.name,
            "attribute": self.attribute,
            **query_to_json(self.question.query),
            "parties": list(self.parties),
            "expected": dict(self.expected),
            "policy": self.policy,
            "patience": PATIENCE_SECONDS,
            "deadlines": {"opens": self.opened, "enrolment": until, "reports": until},
        }
        try:
            return OrderWanted.model_validate(content)
        except ValidationError as refusal:
            first = refusal.errors()[0]
            raise InvalidInput(
                "order_field_malformed", first=".".join(map(str, first["loc"])), msg=first["msg"]
            ) from None

    def command(self, server: str) -> str:
        """Return the same as one command; none where a name cannot be said there."""
        if any("," in party for party in self.parties):
            return ""
        words = ["treetop", "query", "--server", server, "--key-file", KEY_FILE, "--name", self.name or "query"]
        if self.attribute != "item":
            words += ["--attribute", self.attribute]
        words += self.question.options
        if self.parties:
            words += ["--parties", ",".join(self.parties)]
        for party, users in self.expected.items():
            words += ["--expected", f"{party}={users}"]
        words += ["--collect", self.collect]
        return shlex.join(words if self.policy == "wait" else [*words, "--policy", self.policy])


class OrderPages:
    """The form of a new query and its plan."""

    def __init__(
        self, context: ServerContext, settings: ServerSettings, site: Site, clock: Callable[[], float] = time.time
    ) -> None:
        self._context = context
        self._site = site
        self._clock = clock
        self._expected = {party.name: party.expected_users or 0 for party in settings.parties}
        site.add("GET", "/new", self.form)
        site.add("POST", "/new", self.order)
        site.add("POST", "/new/plan", self.plan)

    @property
    def _queries(self) -> QueryManager:
        return self._context.queries

    def form(self, visit: Visit) -> Response:
        """Show an empty form."""
        return self._form(visit)

    def plan(self, visit: Visit) -> Response:
        """Plan what the form says at the moment."""
        try:
            asked = AskedOrder.read(visit, self._queries.parties)
            values = {"error": "", "plan": self._planned(asked)}
            values |= {"command": asked.command(visit.service_url), "has_list": asked.listed is not None}
        except TreetopError as refusal:
            values = {"error": str(refusal), "plan": None, "command": "", "has_list": False}
        return self._site.shown(visit, "plan.html.jinja", **values)

    def order(self, visit: Visit) -> Response:
        """Order the query, and lead to it; a form that cannot be ordered is shown again with the reason."""
        try:
            asked = AskedOrder.read(visit, self._queries.parties)
            if not 0 <= self._clock() + 60 - asked.opened <= FORM_SECONDS + 60:
                raise InvalidInput("form_expired")
            wanted = asked.wanted
            if asked.listed is not None:
                self._queries.keep_list(asked.listed.digest, asked.listed.document)
            task = self._queries.take(wanted).task
        except TreetopError as refusal:
            return self._form(visit, str(refusal), 422)
        return RedirectResponse(address(f"/queries/{task}"), 303)

    def _form(self, visit: Visit, problem: str = "", status: int = 200) -> Response:
        """Show the form as it was sent, or empty; nothing that somebody wrote is lost."""
        known = self._queries.parties
        empty = visit.request.method == "GET"
        asked: dict[str, str] = {
            each.name: visit.field(each.name, str(each.default or "")) for each in fields(AskedQuestion)
        }
        asked["listed"] = Lines(asked["listed"])
        form = {
            name: visit.field(name, getattr(AskedOrder, name)) for name in ("name", "attribute", "collect", "policy")
        }
        users = {
            party: visit.field(f"expected {place}", str(self._expected.get(party) or ""))
            for place, party in enumerate(known)
        }
        return self._site.shown(
            visit,
            "new_query.html.jinja",
            status,
            problem=problem,
            form=form,
            asked=asked,
            users=users,
            ticked=known if empty else visit.form.get("parties", ()),
            opened=int(self._clock()),
            durations=tuple(DURATIONS),
            policies=POLICIES,
            strategies=STRATEGIES_IN_WORDS,
            list_kinds=LIST_KINDS,
            **LIMITS,
        )

    def _planned(self, asked: AskedOrder) -> Any:
        """Plan for the users that are expected; whatever the server would refuse is refused here, too."""
        named = asked if asked.name else replace(asked, name="query")
        order: QueryOrder = named.wanted.order(self._queries.parties, lambda _: _known(asked.listed))
        strategy = order.planned.strategy
        if unknown := [party for party in order.parties if party not in asked.expected]:
            raise InvalidInput("plan_users_missing", unknown=unknown[0])
        return plan_view(asked.question, tuple(asked.expected[party] for party in order.parties), mode_of(strategy))


def _known(listed: ItemList | None) -> ItemList:
    if listed is None:
        raise InvalidInput("list_missing")
    return listed
