"""Run by the party in rounds: a collection as the list that the server signs and devices check."""

from typing import Any

from treetop.encoding.bit_strings import Codes
from treetop.federation.task import DeviceTask
from treetop.federation.wire.published_lists import Beacon, Publication, PublishedList, Question
from treetop.federation.wire.signed_documents import unverified_content
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.requests import CollectReports
from treetop.mechanisms.strict_json import require
from treetop.trie.user_groups import Role

ROOT = Publication(0, (0,))


def listed_question(task: DeviceTask, request: CollectReports) -> Question:
    """Return the question of a collection: its candidates, and the children of their parents that were pruned."""
    asked = tuple(map(int, request.domain.prefixes.tolist()))
    pruned: tuple[int, ...] = ()
    if request.group.role is Role.ESTIMATE:
        present = set(asked)
        pruned = tuple(child for child in _children(task, request.group.level, asked) if child not in present)
    return Question(task.digest, request.group, request.domain.length, asked, pruned)


def _step(task: DeviceTask, level: int) -> int:
    return task.lengths[level] - task.lengths[level - 1]


def _parents(task: DeviceTask, level: int, prefixes: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted({prefix >> _step(task, level) for prefix in prefixes}))


def _children(task: DeviceTask, level: int, prefixes: tuple[int, ...]) -> list[int]:
    step = _step(task, level)
    return [(parent << step) | ending for parent in _parents(task, level, prefixes) for ending in range(1 << step)]


def listing(
    task: DeviceTask, party: str, question: Question, shared: Codes | None, parameters: Parameters
) -> PublishedList:
    """Return the list with what it grew from: the prefixes one level up; the shared trie for another party's list."""
    level = question.group.level
    if question.group.role is Role.ESTIMATE:
        grown = Publication(task.lengths[level - 1], _parents(task, level, question.prefixes))
    elif shared is None:
        grown = ROOT
    else:
        length = task.lengths[parameters.shared_levels]
        grown = Publication(length, tuple(sorted(map(int, shared.tolist()))))
    return PublishedList(party, question, grown)


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
