"""Run by the party in rounds: a collection as the list that the server signs and devices check."""

from typing import Any

from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import Beacon, Publication, PublishedList, Question, unverified_content
from treetop.mechanisms.dialogue import CollectReports
from treetop.mechanisms.strict_json import require


def published_list(task: DeviceTask, party: str, request: CollectReports) -> PublishedList:
    """Return the list of a collection with what it grew from.

    That are the prefixes one level up, whose other children were pruned; or what the mechanism says its candidates
    descend from, where another party chose them.
    """
    level = request.group.level
    asked = tuple(map(int, request.domain.prefixes.tolist()))
    if request.above is not None:
        length, prefixes = request.above
        question = Question(task.digest, request.group, request.domain.length, asked)
        return PublishedList(party, question, Publication(length, tuple(sorted(map(int, prefixes.tolist())))))
    step = task.lengths[level] - task.lengths[level - 1]
    present = set(asked)
    parents = tuple(sorted({prefix >> step for prefix in asked}))
    children = ((parent << step) | ending for parent in parents for ending in range(1 << step))
    pruned = tuple(child for child in children if child not in present)
    question = Question(task.digest, request.group, request.domain.length, asked, pruned)
    return PublishedList(party, question, Publication(task.lengths[level - 1], parents))


def listed_text(listed: PublishedList, task: DeviceTask) -> str:
    """Return the content that the server is asked to sign."""
    return listed.to_bytes(task).decode("ascii")


def beacon_in(document: bytes, task: DeviceTask, party: str, collected: Any) -> Beacon:
    """Return the beacon of a signed document, which must be drawn for this party's enrolment."""
    content = unverified_content(document)
    require(type(content) is str, "beacon", "a text", type(content).__name__)
    beacon = Beacon.from_bytes(content.encode())
    own = (task.digest, party, collected["devices"], bytes.fromhex(collected["digest"]))
    found = (beacon.task, beacon.party, beacon.devices, beacon.enrolment)
    require(own == found, "beacon", "one for this enrolment", "another")
    return beacon
