"""Run by the server: a channel to one party over its HTTP API, with the key that the party issued.

Parties are asked several at a time: one that is away for long holds up a few others, and not all of them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

from treetop.adapters.http.retrying_connection import Reply, Request, RetryingConnection, RetryPolicy
from treetop.adapters.system.telemetry import span
from treetop.errors import PartyUnreachable, PeerViolation
from treetop.federation.task import DeviceTask
from treetop.services.device.party_client import detail_of
from treetop.toml_files import Secret

POLLING = RetryPolicy(in_all=5.0, first_pause=0.2, longest_pause=2.0, answer_within=10.0)
"""The poller repeats a call that fails: a party that is away must not hold up the others."""
AT_A_TIME = 8
"""Replies to a query that may be in memory together."""
MAX_RECEIPT_BYTES = 1 << 16
"""Of an answer that is no reply: that something was taken, or why it was not."""
DONE = 200
ACCEPTED = 202
NO_CONTENT = 204
Party = TypeVar("Party")
Said = TypeVar("Said")


class HttpChannel:
    """Numbered messages to a party and its answers; see `Channel` for what may be repeated."""

    def __init__(self, party: str, connection: RetryingConnection, key: Secret, most_reply_bytes: int) -> None:
        self._party = party
        self._connection = connection
        self._key = key
        self._most_reply_bytes = most_reply_bytes

    def install(self, document: bytes) -> None:
        """Give the party a signed task."""
        self._asked("PUT", f"/v1/tasks/{digest_of(document).hex()}", {NO_CONTENT}, document)

    def give_list(self, task: bytes, document: bytes) -> None:
        """Give the party the list that a task names."""
        self._asked("PUT", f"/v1/tasks/{task.hex()}/items", {NO_CONTENT}, document)

    def give_campaign(self, task: bytes, document: bytes) -> None:
        """Give the party the signed campaign that a task is a week of."""
        self._asked("PUT", f"/v1/tasks/{task.hex()}/campaign", {NO_CONTENT}, document)

    def tell(self, task: bytes, number: int, message: bytes) -> None:
        """Hand over a message; the party has kept it when this returns."""
        self._asked("PUT", f"/v1/tasks/{task.hex()}/messages/{number}", {ACCEPTED}, message)

    def outcome(self, task: bytes, number: int) -> bytes | None:
        """Return the party's answer to a message, or None while it is at work."""
        path = f"/v1/tasks/{task.hex()}/messages/{number}/outcome"
        reply = self._asked("GET", path, {DONE, ACCEPTED}, most_bytes=self._most_reply_bytes)
        return reply.body if reply.status == DONE else None

    def close(self) -> None:
        """Hang up."""
        self._connection.close()

    def _asked(
        self, method: str, path: str, expected: set[int], body: bytes | None = None, most_bytes: int = MAX_RECEIPT_BYTES
    ) -> Reply:
        request = Request(method, path, body, self._headers(body), most_bytes)
        try:
            with span("ask a party", party=self._party, method=method):
                reply = self._connection.ask(request)
        except PartyUnreachable as away:
            raise PartyUnreachable(self._party, away.reason) from None
        if reply.status not in expected:
            wanted = " or ".join(map(str, sorted(expected)))
            found = f"{reply.status}{detail_of(reply.body)}"
            raise PeerViolation(f"answer of party {self._party!r} to {method}", wanted, found)
        return reply

    def _headers(self, body: bytes | None) -> Mapping[str, str]:
        headers = {"Authorization": f"Bearer {self._key.reveal().decode('ascii')}"}
        return headers if body is None else {**headers, "Content-Type": "application/json"}


def digest_of(document: bytes) -> bytes:
    """Return the digest of the task in a signed document."""
    return DeviceTask.from_canonical_bytes(json.loads(document)["content"].encode("ascii")).digest


def several_at_a_time(
    ask: Callable[[Party], Said], parties: Sequence[Party], at_a_time: int = AT_A_TIME
) -> Iterator[Said]:
    """Return what each party says, in their order; the next are asked when those before them have been read."""
    for first in range(0, len(parties), at_a_time):
        yield from _all_at_once(ask, parties[first : first + at_a_time])


def _all_at_once(ask: Callable[[Party], Said], parties: Sequence[Party]) -> list[Said]:
    """Ask in threads that nobody waits for when the process is told to end: an executor's would be waited for."""
    answers: list[Future[Said]] = [Future() for _ in parties]

    def answer(place: int) -> None:
        try:
            answers[place].set_result(ask(parties[place]))
        except BaseException as error:  # raised where the answer is read
            answers[place].set_exception(error)

    for place in range(1, len(parties)):
        Thread(target=answer, args=(place,), name="asking a party", daemon=True).start()
    answer(0)
    return [each.result() for each in answers]
