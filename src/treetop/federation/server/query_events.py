"""What has happened in a query, read from the server's journal: nothing that is not durable, the same after a restart.

The facts of a query are its order and then every entry of its book, in the order they were written. An event's number
is the place of its fact, so whoever has seen number n has missed exactly what is behind it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from treetop.federation.protocol import PartyReply
from treetop.federation.task import DeviceTask
from treetop.mechanisms.dialogue import LevelTrace
from treetop.public_text import visible

ORDERED = "ordered"
BEACON = "beacon"
LEFT_OUT = "left out"
ANSWERED = "answered"
"""Kinds of events beside those of a party's replies (`ReplyKind`)."""


@dataclass(frozen=True)
class QueryEvent:
    """One fact: what happened, at which party, and what the party said of its levels."""

    number: int
    kind: str
    words: str
    """For people: one line."""
    party: str | None = None
    devices: int | None = None
    """Reports (one-shot) or devices enrolled (rounds), once they are closed."""
    tickets: int | None = None
    levels: tuple[LevelTrace, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return it as the API sends it."""
        return {**vars(self), "levels": [vars(trace) for trace in self.levels]}


def events_behind(task: DeviceTask, book: Mapping[str, bytes], seen: int) -> list[QueryEvent]:
    """Return every event but the first ones, from the entries of a query's book."""
    parties = f"{len(task.parties)} part{'y' if len(task.parties) == 1 else 'ies'}"
    first = [QueryEvent(1, ORDERED, f"the task was signed for {parties}")] if seen < 1 else []
    entries = enumerate(islice(book.items(), max(0, seen - 1), None), start=max(2, seen + 1))
    return [*first, *(_event(task, number, entry, content) for number, (entry, content) in entries)]


def _event(task: DeviceTask, number: int, entry: str, content: bytes) -> QueryEvent:
    kind, _, about = entry.partition(":")
    match kind:
        case "outcome":
            return _reply(task, number, about.rpartition(":")[0], PartyReply.from_bytes(content))
        case "left":
            reason = visible(str(json.loads(content)))
            return QueryEvent(number, LEFT_OUT, f"the query goes on without {about}: {reason}", about)
        case "beacon":
            return QueryEvent(number, BEACON, f"the groups of the devices of {about} were drawn", about)
        case _:
            return QueryEvent(number, ANSWERED, "the query is answered")


def _reply(task: DeviceTask, number: int, party: str, reply: PartyReply) -> QueryEvent:
    fields = reply.content
    if reply.kind == "closed":
        devices = fields["devices"]
        tickets = fields["tickets"]
        what = "reports are closed" if task.one_shot else "enrolment is closed"
        words = f"{party}: {what}, {devices:,} came with {tickets:,} tickets"
        return QueryEvent(number, reply.kind, words, party, devices, tickets)
    levels = tuple(LevelTrace(*trace) for trace in fields["traces"])
    words = {
        "list": "wants a list of candidates signed",
        "upload": "sent a partial result",
        "done": "sent its last result",
        "withdrawn": f"withdrew: {fields.get('reason', '')}",
    }[reply.kind]
    counted = "; ".join(map(_level_words, levels))
    return QueryEvent(
        number, reply.kind, visible(f"{party} {words}{counted and f' ({counted})'}"), party, levels=levels
    )


def _level_words(trace: LevelTrace) -> str:
    """Say what a party counted; where every name is counted at once there is no list of candidates."""
    kept = (
        f"{trace.kept:,} of {trace.candidates:,} candidates kept" if trace.candidates else f"{trace.kept:,} names kept"
    )
    return f"level {trace.level}: {trace.reports:,} reports, {kept}"
