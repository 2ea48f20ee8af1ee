"""A user answers in one group, and a group answers one time."""

from collections.abc import Hashable

from treetop.errors import PromiseBroken


class OncePerUser:
    """Run by whoever collects reports: remembers which groups of a partition have answered."""

    def __init__(self, groups: frozenset[Hashable]) -> None:
        self._waiting = set(groups)
        self._groups = groups

    def spend(self, group: Hashable) -> None:
        """Let a group answer, or refuse one that is unknown or has answered before."""
        if group not in self._groups:
            raise PromiseBroken(f"{group} is not a group of this party's users")
        if group not in self._waiting:
            raise PromiseBroken(f"{group} has answered already: its users would report twice")
        self._waiting.remove(group)
