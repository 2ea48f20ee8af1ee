"""Orders of tests: the fields of a query and of its order side by side."""

from dataclasses import fields
from typing import Any

from treetop.federation.server.planning import QueryOrder
from treetop.federation.task_parameters import known_items
from treetop.federation.wire.item_lists import ItemList
from treetop.mechanisms.query import Query

OF_QUERY = {each.name for each in fields(Query)}


def query_order(name: str, parties: tuple[str, ...], **asked: Any) -> QueryOrder:
    """Return an order; lists may be given as devices get them."""
    of_query = {each: value for each, value in asked.items() if each in OF_QUERY}
    for each, value in of_query.items():
        if isinstance(value, ItemList):
            of_query[each] = known_items(value)
    others = {each: value for each, value in asked.items() if each not in OF_QUERY}
    return QueryOrder(name, parties, Query(**of_query), **others)


def changed(order: QueryOrder, **asked: Any) -> QueryOrder:
    """Return an order with some fields of either changed."""
    queried = {each.name: getattr(order.query, each.name) for each in fields(Query)}
    own = {each.name: getattr(order, each.name) for each in fields(QueryOrder) if each.name != "query"}
    return query_order(**{**own, **queried, **asked})
