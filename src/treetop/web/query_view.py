"""The progress of a query for its page, from its task and the facts of its journal alone."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from treetop.federation.server.query_history import LEFT_OUT, GrownLevel, QueryEvent
from treetop.federation.task import DeviceTask
from treetop.federation.task_parameters import mechanism_of, parameters_of
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.uploads import Refusal
from treetop.mechanisms.dialogue import LevelTrace
from treetop.services.server.schemas import QueryPhase, TaskAtParty
from treetop.web.drawings.levels import Branch, LevelCell, matrix, tree
from treetop.web.drawings.svg import Picture

LAST_LINES = 8
MAX_PRUNED = 4000
"""Pruned branches that a tree draws; with more, only those of the level that is being counted."""
VERDICT_KINDS = ACCEPTED, REPEATED, LATE, MALFORMED, REFUSED = "accepted", "repeated", "late", "malformed", "refused"
REFUSAL_KINDS = BY_BUDGET, OTHER_WEEK = "refused by budget", "not their week"
"""Reasons of devices that may not answer."""
KINDS = {
    "accepted": ACCEPTED,
    "replayed": REPEATED,
    "too_late": LATE,
    "level_closed": LATE,
    "enrolment_closed": LATE,
    "malformed": MALFORMED,
}
"""The kind of a verdict; verdicts that are not listed are refusals."""


@dataclass(frozen=True)
class PartyRow:
    """One party in the table."""

    name: str
    step: str
    came: int | None
    """Reports, or enrolled devices: so far, or in total once the group is closed."""
    plan: int | None
    """Expected users, or the number of issued tickets."""
    verdicts: Mapping[str, int]
    problem: str
    badge: str
    """Of the stylesheet: idle, warn, bad or nothing."""


@dataclass(frozen=True)
class Progress:
    """The progress of a query."""

    waiting: str
    steps: int
    levels: int
    matrix: Picture | None
    log: Sequence[QueryEvent]


def progress_of(task: DeviceTask, listed: ItemList | None, events: Sequence[QueryEvent], state: QueryPhase) -> Progress:
    """Return the progress that the page shows while a query runs and afterwards."""
    levels = len(mechanism_of(task, listed).levels(parameters_of(task)))
    drawn = matrix(levels, {name: _cells(name, levels, events) for name in task.parties}) if levels > 1 else None
    steps = sum(each.party is not None for each in events)
    return Progress(_waiting(task, events, state), steps, levels, drawn, list(events[: -LAST_LINES - 1 : -1]))


def _last(name: str, events: Sequence[QueryEvent]) -> QueryEvent | None:
    return next((each for each in reversed(events) if each.party == name), None)


def _waiting(task: DeviceTask, events: Sequence[QueryEvent], state: QueryPhase) -> str:
    """Return in one line what the query waits for."""
    if state != "running":
        return {"answered": "All steps are done.", "failed": "The query has stopped."}[state]
    last = {name: _last(name, events) for name in task.parties}
    silent = [name for name, event in last.items() if event is None]
    if silent:
        what = "reports" if task.one_shot else "enrolments"
        return f"Waiting for {what} of the devices of {_listed(silent)}."
    busy = [name for name, event in last.items() if event and event.kind not in ("done", "withdrawn", LEFT_OUT)]
    behind = {name: sum(each.party == name for each in events) for name in busy}
    slowest = [name for name in busy if behind[name] == min(behind.values())]
    return f"Waiting for {_listed(slowest)} to count." if busy else "Adding up."


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _cells(name: str, levels: int, events: Sequence[QueryEvent]) -> list[LevelCell]:
    """Return the cells of a party: levels that it has reported, the one that it counts, and those to come."""
    reported: dict[int, LevelTrace] = {}
    closed = left = over = False
    for each in (event for event in events if event.party == name):
        reported |= {trace.level: trace for trace in each.levels}
        closed |= each.kind == "closed"
        over |= each.kind == "done"
        left |= each.kind in (LEFT_OUT, "withdrawn")
    cells = []
    for level in range(1, levels + 1):
        if level in reported:
            cells.append(LevelCell("done", reported[level].kept, reported[level].candidates))
        elif left:
            cells.append(LevelCell("left out"))
        elif closed and not over and level == max(reported, default=0) + 1:
            cells.append(LevelCell("working"))
        else:
            cells.append(LevelCell("done" if over else "waiting"))
    return cells


def party_rows(task: DeviceTask, events: Sequence[QueryEvent], standing: Sequence[TaskAtParty]) -> list[PartyRow]:
    """Return a row for every party, from the journal and from the party's own figures of the moment."""
    rows = []
    for at in standing:
        last = _last(at.party, events)
        closed = next((each for each in events if each.party == at.party and each.kind == "closed"), None)
        came = closed.devices if closed else at.reports if task.one_shot else at.enrolled
        step, badge = _step(task, last)
        plan = at.expected or (closed.tickets if closed else at.tickets)
        away = at.problem and not (last and last.kind in ("done", "withdrawn", LEFT_OUT))
        shown = ("away", "bad") if away and at.problem.startswith("does not answer") else (step, badge)
        verdicts: dict[str, int] = {}
        if not at.problem:
            verdicts = dict.fromkeys(VERDICT_KINDS, 0)
            for verdict, number in at.verdicts.items():
                verdicts[KINDS.get(verdict, REFUSED)] += number
            weeks = at.refusals.get(Refusal.NOT_MY_WEEK, 0)
            verdicts |= {BY_BUDGET: sum(at.refusals.values()) - weeks, OTHER_WEEK: weeks}
        rows.append(PartyRow(at.party, shown[0], came, plan, verdicts, at.problem, shown[1]))
    return rows


def _step(task: DeviceTask, last: QueryEvent | None) -> tuple[str, str]:
    """Return the step of a party, and the badge that shows it."""
    if last is None:
        return "collects reports" if task.one_shot else "enrols devices", "idle"
    if last.kind in (LEFT_OUT, "withdrawn"):
        return "left out" if last.kind == LEFT_OUT else "withdrew", "bad"
    return ("done", "") if last.kind == "done" else ("counts", "warn")


def drawn_tree(levels: Sequence[GrownLevel], address: str, focus: str) -> Picture | None:
    """Draw the trie below a prefix in bits; None if there is none."""
    if not any(level.kept or level.asked for level in levels):
        return None
    branches = []
    pruned = sum(len(level.asked - level.kept) for level in levels)
    for index, level in enumerate(levels):
        last = index == len(levels) - 1 and not level.kept
        asked = level.asked if last or pruned <= MAX_PRUNED else frozenset[int]()
        branches += [Branch(f"{prefix:0{level.length}b}", True) for prefix in sorted(level.kept)]
        branches += [Branch(f"{prefix:0{level.length}b}", False) for prefix in sorted(asked - level.kept)]
    return tree(branches, lambda prefix: f"{address}?focus={prefix}", focus)
