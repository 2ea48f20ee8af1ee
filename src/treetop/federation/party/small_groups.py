"""Run by the party: groups with fewer reports than the task's least are not used (T14)."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from treetop.federation.task import DeviceTask
from treetop.mechanisms.taps import Continue
from treetop.trie.user_groups import Group, Role

VALIDATING = (Role.VALIDATE_INFREQUENT, Role.VALIDATE_FREQUENT)


@dataclass(frozen=True)
class GroupsAtHand:
    """The groups of one party: the reports of each (one-shot), or the devices that may still answer (rounds)."""

    task: DeviceTask
    devices: Mapping[Group, int]
    validates: bool
    """Whether the party hears of another's lists: not the first one, and not without pruning."""

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
        least, levels = self.task.least.estimate, range(1, len(self.task.lengths))
        small = [f"{level} ({count})" for level in levels if (count := self.estimating(level)) < least]
        return f"fewer than {least} reports at level {', '.join(small[:5])}" if small else ""

    def usable(self, heard: Continue) -> tuple[Continue, list[str]]:
        """Leave out the lists that must not prune here, and say why."""
        refused = {level: why for level, told in heard.D.items() if (why := self._unfit(level, len(told.frequent)))}
        kept = {level: told for level, told in heard.D.items() if level not in refused}
        return replace(heard, D=kept), [f"level {level} not pruned: {why}" for level, why in refused.items()]

    def _unfit(self, level: int, told: int) -> str:
        """Say why a level cannot be pruned.

        Of 2k prefixes the k that seem less frequent may be pruned. A shorter list would be pruned whole, whatever the
        own users say: whoever wrote it could choose what the next party loses (T7).
        """
        if told < 2 * self.task.k:
            return f"the list told has {told} prefixes, fewer than {2 * self.task.k}"
        small = not self.has_validation(level)
        return f"a validation set has fewer than {self.task.least.validation} reports" if small else ""
