"""Orders as JSON: what is sent and kept is read back as the same order, and the HTTP interface takes it."""

import json
from typing import Any

import pytest
from tests.support.orders import query_order

from treetop.errors import UnknownName
from treetop.federation.server.order_json import order_from_json, order_to_json
from treetop.federation.server.party_poller import MissingPolicy
from treetop.federation.server.planning import planned_task
from treetop.federation.task import Deadlines, LeastReports
from treetop.federation.wire.item_lists import ItemList
from treetop.oracles.set_reports import SetQuestion
from treetop.privacy.shuffling import CentralGuarantee
from treetop.services.server.schemas import OrderWanted

NO_LISTS = dict[str, ItemList]().__getitem__
DRINKS = ItemList(("chai", "latte"), ordered=True, source="drinks.csv")


@pytest.mark.parametrize("asked", [
    {},
    {"k": 3, "epsilon": "1.50", "mechanism": "taps", "mode": "rounds", "encoding": "ids", "oracle": "krr"},
    {"catalogue": DRINKS}, {"word_list": DRINKS, "text_recovery": False, "normalise": "nfc,trim"},
    {"sets": SetQuestion(4, "holders"), "settings": {"bits": "16"}, "strategy": "hashed"},
    {"central": CentralGuarantee(0.5, 1e-8), "expected": {"a": 9000, "b": 8000}, "max_times_expected": 2},
    {"deadlines": Deadlines(1, 2, 3, 4), "least": LeastReports(5, 6), "policy": MissingPolicy("proceed", 7.0)},
])  # fmt: skip
def test_an_order_is_read_back_as_it_was(asked: dict[str, Any]) -> None:
    order = query_order("fruit", ("a", "b"), attribute="drink", **asked)
    sent = json.dumps(order_to_json(order))
    for content in (json.loads(sent), OrderWanted.model_validate_json(sent).model_dump()):
        again = order_from_json(content, ("b", "a", "c"), {DRINKS.digest: DRINKS}.__getitem__)
        assert again == order
        assert planned_task(again).digest == planned_task(order).digest


def test_no_party_means_all_and_a_stranger_is_refused() -> None:
    content = order_to_json(query_order("fruit", ("a",))) | {"parties": []}
    assert order_from_json(content, ("b", "a"), NO_LISTS).parties == ("b", "a")
    with pytest.raises(UnknownName):
        order_from_json({**content, "parties": ["z"]}, ("b", "a"), NO_LISTS)


def test_the_interface_takes_what_an_order_is_written_as() -> None:
    assert set(order_to_json(query_order("fruit", ("a",)))) == set(OrderWanted.model_fields)
