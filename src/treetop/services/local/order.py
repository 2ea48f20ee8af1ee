"""The query of a local federation."""

import time
from collections.abc import Mapping
from typing import Any, cast

from treetop.federation.device.ledger import Caps
from treetop.federation.server.planning import QueryOrder
from treetop.federation.task import Deadlines, LeastReports
from treetop.privacy.budget import Budget
from treetop.services.local.folder import LocalOptions

DAYS_30 = 30 * 86400
LEAST_REPORTS = 50
"""On one machine small federations are played: the least number of reports is lowered, and the answer says so."""
LOWERED = f"on one machine a level needs {LEAST_REPORTS} reports; a deployment asks for 500, and 100 to validate"

CAPS = Caps()


def local_notes(options: LocalOptions) -> list[str]:
    """Say what differs in a deployment."""
    if Budget(options.epsilon).amount <= CAPS.per_task:
        return [LOWERED]
    return [LOWERED, f"the devices here allow epsilon {options.epsilon}; a person's allows {CAPS.per_task} by default"]


def order_of(options: LocalOptions, users: Mapping[str, int], opens: int = 0) -> QueryOrder:
    """Return the order: the largest party first, a deadline that nobody reaches."""
    return QueryOrder(
        name=f"{options.data} on this machine", attribute=options.data, k=options.k, epsilon=options.epsilon,
        mechanism=options.mechanism, mode=cast(Any, options.mode), oracle=options.oracle, encoding=options.encoding,
        settings=options.settings, expected=users,
        parties=tuple(sorted(users, key=lambda name: (-users[name], name))),
        deadlines=Deadlines(opens, opens + DAYS_30, opens + DAYS_30), least=LeastReports(LEAST_REPORTS, LEAST_REPORTS),
    )  # fmt: skip


def ordered_now(options: LocalOptions, users: Mapping[str, int]) -> dict[str, Any]:
    """Return the order as the server's API takes it."""
    order = order_of(options, users, int(time.time()))
    names = ("name", "attribute", "k", "epsilon", "mechanism", "mode", "oracle", "encoding")
    return {
        **{name: getattr(order, name) for name in names}, "settings": dict(order.settings),
        "expected": dict(order.expected), "parties": list(order.parties),
        "deadlines": vars(order.deadlines), "least": vars(order.least),
    }  # fmt: skip
