"""What an analyst asks of a server: order a query, follow it, read its result."""

import json
import re
from collections.abc import Mapping
from typing import Any

from treetop.adapters.http.retrying_connection import Reply, Request, RetryingConnection
from treetop.errors import InvalidInput, PartyUnreachable, PeerViolation, ServerUnreachable
from treetop.federation.task import DeviceTask
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.signed_documents import unverified_content
from treetop.services.device.party_client import detail_of

MAX_RESULT_BYTES = 1 << 28
NOT_YET = 404
REFUSED = (400, 422)
_DIGEST = re.compile("[0-9a-f]{64}")


class ServerClient:
    """Run by the analyst: a server's HTTP API, opened by an admin key."""

    def __init__(self, connection: RetryingConnection, key: str) -> None:
        self._connection = connection
        self._key = key

    def keep_list(self, listed: ItemList) -> str:
        """Have a list of items kept, so that orders can name it; return its digest."""
        reply = self._asked("PUT", f"/v1/lists/{listed.digest}", listed.document)
        if not 200 <= reply.status < 300:
            self._read(reply)
        return listed.digest

    def order(self, order: Mapping[str, Any]) -> str:
        """Have a task made of a query and run; the same order again is the same task. Return its digest."""
        body = json.dumps(order).encode("utf-8")
        return str(self._json("POST", "/v1/queries", body)["task"])

    def queries(self) -> list[dict[str, Any]]:
        """Return every query that the server knows, the oldest one first."""
        found: list[dict[str, Any]] = self._json("GET", "/v1/queries")["queries"]
        return found

    def parties(self) -> list[dict[str, Any]]:
        """Return how every party is, as the server sees it."""
        found: list[dict[str, Any]] = self._json("GET", "/v1/parties")["parties"]
        return found

    def state(self, task: str) -> dict[str, Any]:
        """Return how far a query is."""
        found: dict[str, Any] = self._json("GET", f"/v1/queries/{task}")
        return found

    def task(self, task: str) -> DeviceTask:
        """Return the task of a query, whose signature its parties and devices check."""
        content = unverified_content(json.dumps(self._json("GET", f"/v1/tasks/{task}")).encode())
        return DeviceTask.from_canonical_bytes(content.encode("ascii"))

    def standing(self, task: str) -> list[dict[str, Any]]:
        """Return how far a query's task is at each of its parties, as they say now."""
        found: list[dict[str, Any]] = self._json("GET", f"/v1/queries/{task}/standing")["parties"]
        return found

    def result(self, task: str) -> dict[str, Any] | None:
        """Return the answer, or None while there is none."""
        reply = self._asked("GET", f"/v1/queries/{task}/result")
        return None if reply.status == NOT_YET else self._read(reply)

    def start_campaign(self, campaign: Mapping[str, Any]) -> dict[str, Any]:
        """Have the same question asked every week; the same campaign again is the same one. Return what is shown."""
        found: dict[str, Any] = self._json("POST", "/v1/campaigns", json.dumps(campaign).encode("utf-8"))
        return found

    def campaigns(self) -> list[dict[str, Any]]:
        """Return every campaign that the server knows, the oldest one first, without the answers of their weeks."""
        found: list[dict[str, Any]] = self._json("GET", "/v1/campaigns")["campaigns"]
        return found

    def campaign(self, named: str) -> dict[str, Any]:
        """Return how far a campaign is, and what its weeks answered."""
        found: dict[str, Any] = self._json("GET", f"/v1/campaigns/{self._campaign(named)}")
        return found

    def stop_campaign(self, named: str) -> dict[str, Any]:
        """Have no further week of a campaign asked."""
        found: dict[str, Any] = self._json("POST", f"/v1/campaigns/{self._campaign(named)}/stop", b"")
        return found

    def _campaign(self, named: str) -> str:
        """Return the digest of a campaign: a name may hold anything, and is no part of an address."""
        if _DIGEST.fullmatch(named):
            return named
        found = [shown for shown in self.campaigns() if named in (shown["name"], shown["campaign"])]
        if not found:
            known = ", ".join(dict.fromkeys(shown["name"] for shown in self.campaigns())) or "none"
            raise InvalidInput("campaign_unknown", named=named, known=known)
        return str(found[-1]["campaign"])

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _json(self, method: str, path: str, body: bytes | None = None) -> Any:
        return self._read(self._asked(method, path, body))

    def _asked(self, method: str, path: str, body: bytes | None = None) -> Reply:
        headers = {"Authorization": f"Bearer {self._key}", "Content-Type": "application/json"}
        try:
            return self._connection.ask(Request(method, path, body, headers, MAX_RESULT_BYTES))
        except PartyUnreachable as away:
            raise ServerUnreachable(self._connection.url, away.reason) from None

    @staticmethod
    def _read(reply: Reply) -> Any:
        if reply.status in REFUSED:
            raise InvalidInput("query_refused", body=detail_of(reply.body))
        if not 200 <= reply.status < 300:
            raise PeerViolation("answer of the server", "status 200", f"{reply.status}{detail_of(reply.body)}")
        try:
            return json.loads(reply.body)
        except (ValueError, RecursionError):
            raise PeerViolation("answer of the server", "JSON", "something else") from None
