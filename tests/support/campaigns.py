"""Campaigns and their weeks, for tests to break, and a clock that is set by hand."""

from dataclasses import dataclass, replace
from typing import Any

from tests.support.tasks import task

from treetop.federation.campaign import Campaign, template_of
from treetop.federation.task import Deadlines, DeviceTask

STARTS = 1_700_000_000


@dataclass
class SetClock:
    """A clock that tests set."""

    time: int = STARTS

    def now(self) -> int:
        return self.time


def campaign(epsilon: str = "1", name: str = "browsers", oracle: str = "olh", **changes: Any) -> Campaign:
    """Two cycles of three weeks, unless a test says otherwise."""
    template = template_of(task(oracle, epsilon, name))
    return replace(Campaign(template, STARTS, weeks=3, cycles=2), **changes)


def weekly(asked: Campaign, cycle: int = 0, week: int = 0, **changes: Any) -> DeviceTask:
    """The task of a week, open as long as the week."""
    opens, ends = asked.opens(cycle, week), asked.ends(cycle, week)
    return replace(
        asked.template, name=asked.task_name(cycle, week), campaign=asked.week(cycle, week),
        deadlines=Deadlines(opens, ends, ends), **changes,
    )  # fmt: skip
