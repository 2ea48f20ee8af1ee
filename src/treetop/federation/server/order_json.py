"""Queries and orders as JSON: what the HTTP interface takes, journals keep, and commands and pages send."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from treetop.errors import UnknownName
from treetop.federation.server.party_poller import MissingPolicy
from treetop.federation.server.planning import QueryOrder
from treetop.federation.task import Deadlines, LeastReports
from treetop.federation.task_parameters import known_items
from treetop.federation.wire.item_lists import ItemList
from treetop.mechanisms.query import Query
from treetop.oracles.set_reports import SetQuestion
from treetop.privacy.shuffling import CentralGuarantee

ListOf = Callable[[str], ItemList]
"""Returns the list of a digest, or refuses."""


def query_to_json(query: Query) -> dict[str, Any]:
    """Return a query whose mechanism, oracle and encoding are names; its lists are named by their digests."""
    sets = {} if query.sets is None else vars(query.sets)
    lists = {"catalogue": query.catalogue, "word_list": query.word_list}
    return {
        "k": query.k,
        "epsilon": query.epsilon_text,
        "central": None if query.central is None else vars(query.central),
        **{name: getattr(query, name) for name in ("mechanism", "oracle", "encoding", "strategy", "text_recovery")},
        **{
            name: None if known is None else ItemList(tuple(known.items), known.ordered, known.source).digest
            for name, known in lists.items()
        },
        "normalise": ",".join(query.normalise),
        "items_per_user": sets.get("items_per_user"),
        "reading": sets.get("reading"),
        "settings": {name: str(value) for name, value in query.settings.items()},
    }


def query_from_json(content: Mapping[str, Any], list_of: ListOf) -> Query:
    """Return the query; the inverse of `query_to_json`, for content whose fields have the right types."""
    catalogue, word_list = (
        known_items(None if content[name] is None else list_of(content[name])) for name in ("catalogue", "word_list")
    )
    return Query(
        **{name: content[name] for name in ("k", "epsilon", "mechanism", "oracle", "encoding", "strategy")},
        catalogue=catalogue,
        word_list=word_list,
        text_recovery=content["text_recovery"],
        normalise=content["normalise"] or (),
        settings=content["settings"],
        central=None if content["central"] is None else CentralGuarantee(**content["central"]),
        sets=SetQuestion.asked(content["items_per_user"], content["reading"]),
    )


def order_to_json(order: QueryOrder) -> dict[str, Any]:
    """Return an order as the interface takes it; a week of a campaign is none, it follows from its campaign."""
    return {
        "name": order.name,
        "attribute": order.attribute,
        **query_to_json(order.query),
        "mode": order.mode,
        "parties": list(order.parties),
        "expected": dict(order.expected),
        "max_times_expected": order.max_times_expected,
        "least": vars(order.least),
        "policy": order.policy.missing,
        "patience": int(order.policy.patience),
        "deadlines": vars(order.deadlines),
    }


def order_from_json(content: Mapping[str, Any], parties: Sequence[str], list_of: ListOf) -> QueryOrder:
    """Return the order to a server with these parties and lists, or refuse one that cannot be asked.

    An order that names no parties is for all of them; one without deadlines is asked every week of a campaign.
    """
    for party in content["parties"]:
        if party not in parties:
            raise UnknownName("party", party, parties)
    return QueryOrder(
        content["name"],
        tuple(content["parties"] or parties),
        query_from_json(content, list_of),
        attribute=content["attribute"],
        mode=content["mode"],
        expected=content["expected"],
        max_times_expected=content["max_times_expected"],
        deadlines=Deadlines(**content.get("deadlines", {})),
        least=LeastReports(**content["least"]),
        policy=MissingPolicy(content["policy"], float(content["patience"])),
    )
