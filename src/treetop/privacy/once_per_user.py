"""A user answers in one group, and a group answers one time."""

from collections.abc import Hashable

from treetop.errors import PromiseBroken


class OncePerUser:
    """Run by whoever collects reports: remembers which groups of a partition have answered."""

    def __init__(self, groups: frozenset[Hashable] = frozenset()) -> None:
        self._waiting: set[Hashable] = set(groups)
        self._answered: set[Hashable] = set()

    def admit(self, group: Hashable) -> None:
        """Name a group whose users are in no other one, or refuse a name that is taken."""
        if group in self._waiting or group in self._answered:
            raise PromiseBroken(f"{group} has its users already: others cannot join it")
        self._waiting.add(group)

    def spend(self, group: Hashable) -> None:
        """Let a group answer, or refuse one that is unknown or has answered before."""
        if group in self._answered:
            raise PromiseBroken(f"{group} has answered already: its users would report twice")
        if group not in self._waiting:
            raise PromiseBroken(f"{group} is not a group of this party's users")
        self._waiting.remove(group)
        self._answered.add(group)
