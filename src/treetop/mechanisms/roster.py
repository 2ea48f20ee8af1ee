"""Who takes part: the parties' names and sizes, which are public."""

from collections.abc import Iterable
from dataclasses import dataclass

from treetop.errors import InvalidInput


@dataclass(frozen=True)
class Member:
    """One party P_i with |U^i| users."""

    name: str
    users: int


@dataclass(frozen=True)
class Roster:
    """The parties in the order P^R of TAPS: falling number of users, equal ones by name."""

    members: tuple[Member, ...]

    @classmethod
    def of(cls, members: Iterable[Member]) -> "Roster":
        """Sort the parties; refuse an empty federation."""
        ordered = tuple(sorted(members, key=lambda member: (-member.users, member.name)))
        if not ordered:
            raise InvalidInput("a federation needs one party at least, found none")
        return cls(ordered)

    @property
    def names(self) -> tuple[str, ...]:
        """Return the parties' names in order."""
        return tuple(member.name for member in self.members)

    @property
    def all_users(self) -> int:
        """Return the users of all parties together."""
        return sum(member.users for member in self.members)

    def place(self, member: Member) -> int:
        """Return i - 1 for party P_i."""
        return self.members.index(member)

    def previous(self, member: Member) -> Member | None:
        """Return P_{i-1}, or None for the first party."""
        place = self.place(member)
        return self.members[place - 1] if place else None

    def is_last(self, member: Member) -> bool:
        """Return whether no party follows."""
        return member == self.members[-1]
