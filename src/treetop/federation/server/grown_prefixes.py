"""The trie of a query as the server knows it, at any time: read from the journal, by replaying it where that is needed.

In rounds every list of candidates is in the public log, and says what it grew from. In one-shot mode a mechanism with
one trie for all parties names its prefixes in its messages, which are not journaled: they follow from the replies that
are, so the query is run again as far as its journal leads, and nobody is asked anything.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from treetop.errors import QueryFailed
from treetop.federation.ports import Signer
from treetop.federation.server.list_log import ListLog
from treetop.federation.server.planning import QueryOrder, planned_task
from treetop.federation.server.query import ServerQuery
from treetop.federation.service_ports import Journal, ServiceClock
from treetop.federation.task import DeviceTask
from treetop.federation.task_parameters import mechanism_of
from treetop.federation.wire.signed_documents import PublishedList, unverified_content
from treetop.privacy.randomness import Entropy
from treetop.trie.user_groups import Role


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
    with suppress(_EndOfJournal, QueryFailed):  # one that failed had grown so far, too
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
    """Whatever comes next has not happened yet."""


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
