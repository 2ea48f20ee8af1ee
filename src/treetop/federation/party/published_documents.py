"""What a party publishes of one task: to devices its documents, each posted once; to the server who may not answer."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import uuid4

from treetop.errors import PeerViolation
from treetop.federation.documents import canonical_json
from treetop.federation.ports import Verifier
from treetop.federation.service_ports import Journal
from treetop.federation.task import DeviceTask
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.signed_documents import Beacon, PublishedList, checked, checked_campaign
from treetop.federation.wire.uploads import Refusal, ReportStatus
from treetop.trie.user_groups import Group, Role


class RefusalCounts:
    """Run by the party: how many devices of a task reported that they may not answer, by code.

    Only counts last. Tickets are known while a process runs, so that a device which reports its refusal again counts
    once; after a restart, or at another process of the party, it would count twice, which devices avoid by remembering
    that they reported it.
    """

    def __init__(self, journal: Journal, task: DeviceTask) -> None:
        self._journal = journal
        self._book = f"refusals:{task.digest.hex()}"
        self._counted: dict[int, object] = {}
        """Serial numbers, and which request counts each."""

    @property
    def counts(self) -> Mapping[Refusal, int]:
        """Return how many devices gave each code; codes that nobody gave are left out."""
        found: Counter[str] = Counter()
        for content in self._journal.read(self._book).values():
            found.update(json.loads(content))
        return {code: found[code] for code in Refusal if found[code]}

    def add(self, refusals: Sequence[tuple[int, Refusal]]) -> list[ReportStatus]:
        """Count the codes that came with tickets of these serial numbers: of each ticket the first one."""
        request = object()
        first = dict[int, Refusal]()
        for serial, code in refusals:  # requests come in threads: of those with one ticket, `setdefault` lets one pass
            if self._counted.setdefault(serial, request) is request:
                first.setdefault(serial, code)
        if first:
            self._count(first)
        new = set(first)
        statuses = []
        for serial, _ in refusals:
            statuses.append(ReportStatus.ACCEPTED if serial in new else ReportStatus.REPLAYED)
            new.discard(serial)
        return statuses

    def _count(self, first: Mapping[int, Refusal]) -> None:
        """Keep counts, under a name that nobody else takes and that says nothing: a party may be several processes."""
        counted = Counter(code.value for code in first.values())
        try:
            self._journal.write(self._book, uuid4().hex, canonical_json(counted))
        except BaseException:
            for serial in first:  # the reply asks these devices to try again
                del self._counted[serial]
            raise


_ROLES = tuple(Role)
_BEACON = "beacon"
_OVER = "over"
_DOCUMENT = "document"


class CheckedBefore:
    """Trusts our own store: documents were checked when they came, and a key rotated out since invalidates none."""

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Return whether there is something at all."""
        return bool(message and signature)


class PublishedDocuments:
    """Run by the party: kept in the journal, so that a restarted party publishes the same."""

    def __init__(self, journal: Journal, task: DeviceTask) -> None:
        self._journal = journal
        self._task = task
        self._book = f"bulletin:{task.digest.hex()}"
        self._entries = dict(journal.read(self._book))
        self._read: dict[Group, PublishedList] = {}
        self.refusals = RefusalCounts(journal, task)

    def reread(self) -> None:
        """Take note of what another process of this party has published."""
        self._entries.update(self._journal.read(self._book))

    @property
    def beacon(self) -> bytes | None:
        """Return the signed beacon, once there is one."""
        return self._entries.get(_BEACON)

    @property
    def read_beacon(self) -> Beacon | None:
        """Return what the beacon says."""
        return Beacon.from_bytes(checked("beacon", self.beacon, CheckedBefore())) if self.beacon else None

    def post_beacon(self, document: bytes) -> None:
        """Publish a beacon; a second, different one is refused."""
        self._post(_BEACON, document)

    @property
    def lists(self) -> dict[Group, bytes]:
        """Return the signed lists by group, oldest first."""
        named = [(name.split(":"), document) for name, document in list(self._entries.items())]
        return {Group(int(name[1]), _ROLES[int(name[2])]): document for name, document in named if name[0] == "list"}

    def read_list(self, group: Group) -> PublishedList:
        """Return what the list of a group says; it is read once."""
        if group not in self._read:
            content = checked("list", self.lists[group], CheckedBefore())
            self._read[group] = PublishedList.from_bytes(content, self._task)
        return self._read[group]

    def post_list(self, group: Group, document: bytes) -> None:
        """Publish the list of a group; a second, different one is refused."""
        self._post(_name("list", group), document)

    @property
    def item_list(self) -> bytes | None:
        """Return the document of the list that the task names, once it was given."""
        return self._journal.get(f"item list:{self._task.item_list}", _DOCUMENT) if self._task.item_list else None

    def post_item_list(self, document: bytes) -> None:
        """Publish the list that the task names, or refuse another; however it was compressed, the first one stays."""
        if not self._task.item_list:
            raise PeerViolation("list of items", "none for this task", "one")
        if self.item_list is None:
            ItemList.from_document(document, self._task.item_list)
            self._journal.write(f"item list:{self._task.item_list}", _DOCUMENT, document)

    def post_campaign(self, document: bytes, verifier: Verifier) -> None:
        """Publish the campaign that the task is a week of, or refuse another; again, it does nothing."""
        if self._task.campaign is None:
            raise PeerViolation("campaign", "none for this task", "one")
        checked_campaign(document, verifier).check_task(self._task)
        self._journal.write(_campaign_book(self._task.campaign.campaign), _DOCUMENT, document)

    def is_closed(self, group: Group) -> bool:
        """Return whether the group's answers are all in."""
        return _name("closed", group) in self._entries

    def note_closed(self, group: Group) -> None:
        """Remember that a group takes no more answers."""
        self._post(_name("closed", group), b"")

    @property
    def over(self) -> bool:
        """Return whether nothing more is asked of any device."""
        return _OVER in self._entries

    def note_over(self) -> None:
        """Remember that devices have nothing more to do."""
        self._post(_OVER, b"")

    def _post(self, name: str, document: bytes) -> None:
        kept = self._journal.write(self._book, name, document)
        if kept != document:
            raise PeerViolation(f"{name} of a task", "the one that was published", "another")
        self._entries[name] = kept


def campaign_document(journal: Journal, digest: str) -> bytes | None:
    """Return the signed document of a campaign, or None where no task of it was given with it."""
    return journal.get(_campaign_book(digest), _DOCUMENT)


def _campaign_book(digest: str) -> str:
    return f"campaign:{digest}"


def _name(kind: str, group: Group) -> str:
    return f"{kind}:{group.level}:{_ROLES.index(group.role)}"
