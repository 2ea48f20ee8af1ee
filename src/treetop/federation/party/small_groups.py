"""Run by the party: groups with fewer reports than the task's least are not used (T14)."""

from collections.abc import Mapping
from dataclasses import dataclass

from treetop.federation.task import DeviceTask
from treetop.trie.user_groups import VALIDATING, Group


@dataclass(frozen=True)
class GroupsAtHand:
    """The groups of one party: the reports of each (one-shot), or the devices that may still answer (rounds)."""

    task: DeviceTask
    devices: Mapping[Group, int]
    validates: bool
    """Whether its validation sets are needed for another party's lists."""

    def has_validation(self, level: int) -> bool:
        """Return whether a level has both validation sets, and both are large enough."""
        sizes = [self.devices.get(Group(level, role), 0) for role in VALIDATING]
        return min(sizes) >= self.task.least.validation

    def estimating(self, level: int) -> int:
        """Return who can answer the estimate of a level: in one-shot also validation sets that are not needed."""
        own = self.devices.get(Group(level), 0)
        if not self.task.one_shot or (self.validates and self.has_validation(level)):
            return own
        return own + sum(self.devices.get(Group(level, role), 0) for role in VALIDATING)

    def too_small(self) -> str:
        """Say which levels have too few for an estimate, or nothing."""
        least = self.task.least.estimate
        levels = range(1, len(self.task.lengths))
        small = [f"{level} ({count})" for level in levels if (count := self.estimating(level)) < least]
        return f"fewer than {least} reports at level {', '.join(small[:5])}" if small else ""
