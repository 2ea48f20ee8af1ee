"""The same question again and again: what everybody knows about a campaign before its first week.

Time is divided into cycles of W weeks. A device answers in one week of each cycle, which it draws itself, so that a
whole cycle costs it one epsilon. A week lasts `every` seconds: seven days, if nobody wants it otherwise.
"""

import json
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256

from treetop.errors import InvalidInput
from treetop.federation.documents import DocumentCode, DocumentRefused, canonical_json, read_canonical, record, whole
from treetop.federation.task import LAST_SECOND, MAX_CYCLES, MAX_WEEKS, TASK, CampaignWeek, Deadlines, DeviceTask
from treetop.privacy.budget import Budget

DAY = 24 * 60 * 60
WEEK = 7 * DAY
MIN_WEEKS = 2
_OF_A_WEEK = {"hash_key", "seeds"}
"""Settings that a week decides for itself: the key of hashed names, and what earlier weeks found."""
_CAMPAIGN_DOMAIN = b"treetop campaign 1\0"


@dataclass(frozen=True)
class Campaign:
    """What is asked in every week, and when; its digest names it in the tasks of its weeks."""

    template: DeviceTask
    """What all weeks have in common: `template_of` any of them. Its name, attribute and budget are the campaign's."""
    starts: int
    """Seconds since 1970 at which week 0 of cycle 0 opens."""
    every: int = WEEK
    """Seconds of a week."""
    weeks: int = 12
    """W: weeks of a cycle."""
    cycles: int = 1

    def __post_init__(self) -> None:
        problems = [
            f"{name} must be a whole number from {least:,} to {most:,}, found {str(found)[:80]}"
            for name, least, most, found in (
                ("starts", 0, LAST_SECOND, self.starts),
                ("every", 1, LAST_SECOND, self.every),
                ("weeks", MIN_WEEKS, MAX_WEEKS, self.weeks),
                ("cycles", 1, MAX_CYCLES, self.cycles),
            )
            if type(found) is not int or not least <= found <= most
        ]
        if not problems and self.over > LAST_SECOND:
            problems.append(f"the last week must end by second {LAST_SECOND:,}, found {self.over:,}")
        if self.template != template_of(self.template):
            problems.append(
                "template must be without what a week decides for itself: week, deadlines, item_list, hash_key, seeds, "
                "weights"
            )
        if problems:
            raise InvalidInput("campaign_unaskable", problems=problems)

    @property
    def name(self) -> str:
        """Return what people call it; its weeks carry the same name with their number behind it."""
        return self.template.name

    @property
    def attribute(self) -> str:
        """Return what is asked about."""
        return self.template.attribute

    @property
    def budget(self) -> Budget:
        """Return epsilon: what a cycle costs a device, whatever values it holds in its weeks."""
        return self.template.budget

    @property
    def over(self) -> int:
        """Return the second at which the last week has ended."""
        return self.starts + self.every * self.weeks * self.cycles

    def opens(self, cycle: int, week: int) -> int:
        """Return the first second of a week."""
        return self.starts + self.every * (self.weeks * cycle + week)

    def ends(self, cycle: int, week: int) -> int:
        """Return the first second after a week."""
        return self.opens(cycle, week) + self.every

    def place_at(self, now: int) -> tuple[int, int] | None:
        """Return the cycle and the week that a time falls in; None before the first week and after the last."""
        if not self.starts <= now < self.over:
            return None
        passed = (now - self.starts) // self.every
        cycle = passed // self.weeks
        return cycle, passed - self.weeks * cycle

    def week(self, cycle: int, week: int) -> CampaignWeek:
        """Return what the task of a week carries."""
        if not 0 <= cycle < self.cycles or not 0 <= week < self.weeks:
            raise InvalidInput(
                "campaign_week_unknown", cycles=self.cycles - 1, weeks=self.weeks - 1, week=week, cycle=cycle
            )
        return CampaignWeek(self.digest.hex(), cycle, week)

    def task_name(self, cycle: int, week: int) -> str:
        """Return the name of a week's task: weeks are counted from 1 through all cycles, as people do."""
        return f"{self.name} week {self.weeks * cycle + week + 1}"

    def check_task(self, task: DeviceTask) -> CampaignWeek:
        """Run by the device and the party: refuse a task that is not one of this campaign's weeks; return which it is.

        Free are, within the week: the deadlines. Free from week to week, as answers of earlier weeks may be used: the
        list of known items, the key of hashed names, what earlier weeks found and how many devices each group gets.
        None of it changes what a report costs.
        """
        if task.digest in self._checked:
            return self._checked[task.digest]
        place = task.campaign
        if place is None or place.campaign != self.digest.hex():
            raise DocumentRefused(
                DocumentCode.OTHER, "campaign of the task", self.digest.hex(), place.campaign if place else "none"
            )
        if place.cycle >= self.cycles or place.week >= self.weeks:
            expected = f"{self.weeks} weeks in each of {self.cycles} cycles"
            raise DocumentRefused(
                DocumentCode.OTHER, "week of the task", expected, f"week {place.week} of cycle {place.cycle}, from 0 on"
            )
        expected_name = self.task_name(place.cycle, place.week)
        if task.name != expected_name:
            raise DocumentRefused(DocumentCode.OTHER, "name of the task", repr(expected_name), repr(task.name))
        opens = self.opens(place.cycle, place.week)
        ends = self.ends(place.cycle, place.week)
        if not opens <= task.deadlines.opens <= task.deadlines.reports <= ends:
            found = f"from {task.deadlines.opens} to {task.deadlines.reports}"
            raise DocumentRefused(
                DocumentCode.OTHER, "time of the task", f"within its week, from {opens} to {ends}", found
            )
        if not {entry.group for entry in task.groups} <= {entry.group for entry in self.template.groups}:
            raise DocumentRefused(DocumentCode.OTHER, "groups of the task", "those of the campaign", "others")
        found_template = replace(template_of(task), name=self.name, groups=self.template.groups)
        if found_template != self.template:
            changed = ", ".join(
                name for name in vars(found_template) if getattr(found_template, name) != getattr(self.template, name)
            )
            raise DocumentRefused(
                DocumentCode.OTHER, "task of the campaign", "the same question in every week", f"another {changed}"
            )
        self._checked[task.digest] = place
        return place

    @cached_property
    def _checked(self) -> dict[bytes, CampaignWeek]:
        """Return the tasks that were found to be weeks of this campaign: many devices of a fleet ask about one."""
        return {}

    @cached_property
    def digest(self) -> bytes:
        """Return the 32 bytes that stand for this campaign in tasks and ledgers."""
        return sha256(_CAMPAIGN_DOMAIN + self.canonical_bytes()).digest()

    def canonical_bytes(self) -> bytes:
        """Return the one way to write this campaign down: JSON as that of a task, with the template in it."""
        return canonical_json(
            {
                "cycles": self.cycles,
                "every": self.every,
                "starts": self.starts,
                "template": json.loads(self.template.canonical_bytes()),
                "weeks": self.weeks,
            }
        )

    @classmethod
    def from_canonical_bytes(cls, data: bytes) -> "Campaign":
        """Read a campaign back; anything but its one canonical form is refused."""
        content = read_canonical("campaign", data, _CAMPAIGN)
        template = DeviceTask.from_canonical_bytes(canonical_json(content.pop("template")))
        try:
            return cls(template, **content)
        except InvalidInput as problem:
            raise DocumentRefused(DocumentCode.MEANING, "campaign", "one that can be asked", problem) from None


_CAMPAIGN = record(
    {
        "cycles": whole(1, MAX_CYCLES),
        "every": whole(1, LAST_SECOND),
        "starts": whole(0, LAST_SECOND),
        "template": TASK,
        "weeks": whole(MIN_WEEKS, MAX_WEEKS),
    }
)


def template_of(task: DeviceTask) -> DeviceTask:
    """Return a task without all that a week decides for itself; the name stays."""
    return replace(
        task,
        campaign=None,
        deadlines=Deadlines(level_seconds=task.deadlines.level_seconds),
        item_list="",
        encoding=replace(task.encoding, hash_key=""),
        settings=tuple((name, text) for name, text in task.settings if name not in _OF_A_WEEK),
        groups=tuple(replace(entry, weight=1) for entry in task.groups),
    )
