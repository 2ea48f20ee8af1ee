"""What a device checks before it answers a published candidate list (rounds mode).

Everything here is a function of public data: the value has not been read, so a refusal says nothing about it.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise
from operator import is_

from treetop.errors import QuestionRefused
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import Publication, Question
from treetop.trie.user_groups import Group, Role

MIN_SLOTS = 5
"""The longest floor that every mechanism's default task meets: four candidates of two bits, and the dummy."""
_LISTS_REMEMBERED = 8


def check_question(
    task: DeviceTask, own: Group, question: Question, published: Publication, least_slots: int = MIN_SLOTS
) -> None:
    """Run by the device: refuse a question that its task does not allow, or of fewer slots than its owner does.

    That a question is allowed is remembered for the very objects that were checked, so that many devices in one process
    that are asked the same pay once. Equal objects would not do: 1 equals True, and what is mutable may have changed.
    """
    fixed = all(type(prefixes) is tuple for prefixes in (question.prefixes, question.pruned, published.prefixes))
    _require(fixed, "candidates", "a tuple", "something that may change")
    _check_once(_SameObjects(task, question, published), own, least_slots)


class _SameObjects:
    """A key that is equal only to one of the same objects; it keeps them alive, so that none takes another's place."""

    __slots__ = ("objects",)

    def __init__(self, task: DeviceTask, question: Question, published: Publication) -> None:
        self.objects = (task, question, published)

    def __hash__(self) -> int:
        return hash(tuple(map(id, self.objects)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _SameObjects) and all(map(is_, self.objects, other.objects))


@lru_cache(_LISTS_REMEMBERED)
def _check_once(asked: _SameObjects, own: Group, least_slots: int) -> None:
    """Check a question; a refusal is not remembered. Of the others only what they equal is read: equality will do."""
    task, question, published = asked.objects
    _require(not task.one_shot, "mode of the task", "rounds", "one-shot: there is no candidate list to answer")
    _require(question.task == task.digest, "task", task.digest.hex(), question.task.hex())
    _require(question.group == own, "group", own, question.group)
    wanted = task.lengths[own.level]
    _require(question.length == wanted, "length of the candidates", wanted, question.length)
    _check_prefixes("candidates", question.prefixes, question.length)
    _check_prefixes("pruned candidates", question.pruned, question.length)
    _check_prefixes("published prefixes", published.prefixes, published.length)
    _check_size(task, question)
    _require(question.slots >= least_slots, "slots", f"{least_slots} at least", question.slots)
    _check_descent(task, question, published)


def _require(holds: bool, what: str, expected: object, found: object) -> None:
    if not holds:
        raise QuestionRefused(what, expected, found)


def _check_prefixes(what: str, prefixes: Sequence[int], length: int) -> None:
    whole = all(type(prefix) is int for prefix in prefixes)
    _require(whole, what, "whole numbers", "something else")
    rising = all(one < two for one, two in pairwise(prefixes))
    _require(rising, what, "distinct and in ascending order", "otherwise")
    in_range = not prefixes or (prefixes[0] >= 0 and prefixes[-1].bit_length() <= length)
    _require(in_range, what, f"of {length} bits", "others")


def _check_size(task: DeviceTask, question: Question) -> None:
    least = smallest_domain(task, question.group)
    found = len(question.prefixes)
    _require(found >= least, "number of candidates", f"{least} at least", found)
    _require(question.slots <= task.max_slots, "slots", f"{task.max_slots} at most", question.slots)
    if question.group.role is not Role.ESTIMATE:
        _require(found <= 2 * task.k, "candidates of a validation set", f"{2 * task.k} at most", found)
        _require(not question.pruned, "pruned candidates of a validation set", "none", len(question.pruned))


def smallest_domain(task: DeviceTask, group: Group) -> int:
    """Return d_min: all of level 1; later twice the children of one prefix, or 2k for a smaller validation list."""
    step = task.lengths[group.level] - task.lengths[group.level - 1]
    least = 1 << step if group.level == 1 else 2 << step
    return least if group.role is Role.ESTIMATE else min(least, 2 * task.k)


def largest_domain(task: DeviceTask, group: Group) -> int:
    """Return the most candidates that a group can be asked about."""
    most = min(1 << task.lengths[group.level], task.max_slots - 1)
    return most if group.role is Role.ESTIMATE else min(most, 2 * task.k)


def _check_descent(task: DeviceTask, question: Question, published: Publication) -> None:
    if question.group.role is Role.ESTIMATE:
        _check_children(task, question, published)
    else:
        _check_descendants(question, published)


def _check_children(task: DeviceTask, question: Question, published: Publication) -> None:
    """All children of the published prefixes are asked about, less 2k at most that were pruned openly."""
    before = task.lengths[question.group.level - 1]
    _require(published.length == before, "length of the published prefixes", before, published.length)
    # Bounded before the children are listed: a step of many bits would fill the memory.
    count = len(published.prefixes) << (question.length - before)
    _require(count <= task.max_slots + 2 * task.k, "children of the published prefixes", "fewer", count)
    _require(len(question.pruned) <= 2 * task.k, "pruned candidates", f"{2 * task.k} at most", len(question.pruned))
    step = question.length - before
    children = tuple((prefix << step) | ending for prefix in published.prefixes for ending in range(1 << step))
    asked = tuple(sorted(question.prefixes + question.pruned))
    _require(asked == children, "candidates and pruned ones together", "all children of the published", "others")


def _check_descendants(question: Question, published: Publication) -> None:
    step = question.length - published.length
    _require(step >= 0, "length of the published prefixes", f"{question.length} at most", published.length)
    known = set(published.prefixes)
    below = all(prefix >> step in known for prefix in question.prefixes)
    _require(below, "candidates of a validation set", "descendants of the published prefixes", "others")
