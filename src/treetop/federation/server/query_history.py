"""What has happened in a query, read from the server's journal: nothing that is not durable, the same after a restart.

Events: the facts of a query are its order and then every entry of its book, in the order they were written. An event's
number is the index of its fact, so a reader who has seen number n has missed exactly the events behind it.

The trie: in rounds every list of candidates is in the public log, with the prefixes that it grew from. In one-shot mode
a mechanism with one trie for all parties names its prefixes in its messages, which are not journaled: they follow from
the replies that are, so the query is run again as far as its journal leads, and nobody is asked anything.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from treetop.errors import QueryFailed
from treetop.federation.ports import Signer
from treetop.federation.protocol import PartyReply
from treetop.federation.server.planning import QueryOrder, planned_task
from treetop.federation.server.query import ListLog, ServerQuery
from treetop.federation.service_ports import Journal, ServiceClock
from treetop.federation.task import DeviceTask
from treetop.federation.task_parameters import mechanism_of
from treetop.federation.wire.signed_documents import PublishedList, unverified_content
from treetop.mechanisms.dialogue import LevelTrace
from treetop.privacy.randomness import Entropy
from treetop.public_text import visible
from treetop.trie.user_groups import Role

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


@dataclass(frozen=True)
class GrownLevel:
    """Prefixes of one length, of all parties that have named theirs."""

    length: int
    """Bits."""
    kept: frozenset[int]
    """What the next level grew from."""
    asked: frozenset[int] = frozenset()
    """What devices were asked about, where a list says so; otherwise all children of the level before."""


def grown_prefixes(
    order: QueryOrder, signer: Signer, journal: Journal, *, clock: ServiceClock, entropy: Entropy
) -> list[GrownLevel]:
    """Return the levels of the trie so far, the shortest first; none where the server knows none."""
    task = planned_task(order)
    if not task.one_shot:
        return _from_lists(task, journal.read(ListLog(task, signer, journal).book))
    mechanism = mechanism_of(task, order.listed)
    if mechanism.reports_names:
        return []
    nobody = _NobodyAnswers()
    query = ServerQuery(
        order, signer, _ReadOnly(journal), dict.fromkeys(task.parties, nobody), clock=clock, entropy=entropy
    )
    with suppress(_EndOfJournal, QueryFailed):  # a query that failed had grown up to there
        query.run()
    if not query.facts:
        return []
    furthest = max(query.facts.values(), key=lambda facts: len(facts.messages))
    levels = []
    for number in range(2, min(len(furthest.messages), len(task.lengths)) + 1):  # the first message names the root
        named = mechanism.wire.published_prefixes(replace(furthest, messages=furthest.messages[:number]))
        if named is not None:
            levels.append(GrownLevel(task.lengths[number - 1], frozenset(map(int, named.tolist()))))
    return levels


def _from_lists(task: DeviceTask, book: Mapping[str, bytes]) -> list[GrownLevel]:
    kept: dict[int, set[int]] = {}
    asked: dict[int, set[int]] = {}
    for entry, document in book.items():
        if not entry.startswith("list:"):
            continue
        listed = PublishedList.from_bytes(unverified_content(document).encode("ascii"), task)
        if listed.question.group.role is Role.ESTIMATE:
            kept.setdefault(listed.published.length, set()).update(listed.published.prefixes)
            asked.setdefault(listed.question.length, set()).update(listed.question.prefixes)
    lengths = sorted({*kept, *asked} - {0})
    return [GrownLevel(length, frozenset(kept.get(length, ())), frozenset(asked.get(length, ()))) for length in lengths]


class _EndOfJournal(Exception):
    """The journal ends here: the next step has not happened yet."""


class _NobodyAnswers:
    """A channel that a replay must not use."""

    def __getattr__(self, _: str) -> Any:
        raise _EndOfJournal


class _ReadOnly:
    """A journal that keeps nothing; the result is not in it, so that the query runs up to there."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def read(self, book: str) -> Mapping[str, bytes]:
        """Return the entries but for the result."""
        return {entry: content for entry, content in self._journal.read(book).items() if entry != "result"}

    def get(self, book: str, entry: str) -> bytes | None:
        """Return an entry but for the result."""
        return None if entry == "result" else self._journal.get(book, entry)

    def write(self, book: str, entry: str, content: bytes) -> bytes:  # noqa: ARG002
        """Keep nothing: this has not happened yet."""
        raise _EndOfJournal

    def books(self) -> list[str]:
        """Return the names of all books."""
        return list(self._journal.books())
