"""Run by anybody: whether the public log of a task is what its server's key has signed. Needs no access key."""

import json
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from treetop.adapters.http.retrying_connection import Request, RetryingConnection, RetryPolicy
from treetop.adapters.system.key_files import PinnedKeys
from treetop.errors import InvalidInput, PartyUnreachable, PeerViolation, ServerUnreachable
from treetop.federation.device.list_checks import check_question
from treetop.federation.wire.signed_documents import PublishedList, checked, checked_task
from treetop.services.device.party_client import detail_of
from treetop.trie.user_groups import Group

MAX_LOG_BYTES = 1 << 28
PATIENCE = RetryPolicy(in_all=20.0)


def checked_log(server: str, task: str, keys: Sequence[str], ca: Path | None = None) -> list[str]:
    """Return what was found right, in words; raise `PeerViolation` at the first thing that is not."""
    if len(task) != 64 or set(task) - set("0123456789abcdef"):
        raise InvalidInput("task_option_malformed", task=task)
    pinned = PinnedKeys(keys)
    with closing(RetryingConnection(server, ca, PATIENCE)) as connection:
        document = _fetched(connection, f"/v1/tasks/{task}")
        try:
            lists = list(json.loads(_fetched(connection, f"/v1/tasks/{task}/log"))["lists"])
        except (ValueError, TypeError, KeyError, RecursionError):
            raise PeerViolation("log of a task", "an object with its lists", "something else") from None
    signed = checked_task(document, pinned)
    if signed.digest.hex() != task:
        raise PeerViolation("digest of the task", task, signed.digest.hex())
    seen: set[tuple[str, Group]] = set()
    for entry in lists:
        listed = PublishedList.from_bytes(checked("list", json.dumps(entry).encode(), pinned), signed)
        group = listed.question.group
        if listed.question.task != signed.digest:
            raise PeerViolation("task of a list", task, listed.question.task.hex())
        if (listed.party, group) in seen:
            raise PeerViolation(f"lists of {listed.party!r}, {group}", "one", "two")
        check_question(signed, group, listed.question, listed.published)
        seen.add((listed.party, group))
    return [
        f"task {task[:16]}…: signed by a key that is believed, and its digest is right",
        f"epsilon {signed.budget.text}, mechanism {signed.mechanism}, {len(signed.parties)} parties",
        f"{len(seen)} lists: each signed, of this task, one for its group, and as devices accept them",
    ]


def _fetched(connection: RetryingConnection, path: str) -> bytes:
    try:
        reply = connection.ask(Request("GET", path, max_bytes=MAX_LOG_BYTES))
    except PartyUnreachable as away:
        raise ServerUnreachable(connection.url, away.reason) from None
    if reply.status != 200:
        found = f"{reply.status}{detail_of(reply.body)}"
        raise PeerViolation(f"answer of the server to GET {path}", "status 200", found)
    return reply.body
