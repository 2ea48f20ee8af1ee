"""Run by the server: how many users each party was expected to have, compared with how many it says it has (T6).

A party's size is its own word: nobody else sees its devices. What was expected of it is the only bound there is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from treetop.answers.parts import Covered
from treetop.errors import InvalidInput, UnknownName
from treetop.federation.wire.uploads import MAX_TICKETS
from treetop.mechanisms.strict_json import require
from treetop.wording import Note

MAX_TIMES_EXPECTED = 4
"""How many times its expected users a party may have, unless the order says otherwise."""
FLAGGED_TIMES = 2
"""Beyond this multiple of its expected users a party is flagged."""
_LARGEST_MULTIPLE = 1000


class CountedParty(Protocol):
    """A party and the users it says it has."""

    @property
    def name(self) -> str:
        """Return who it is."""
        ...

    @property
    def users(self) -> int:
        """Return its size, 0 where that was never said."""
        ...


@dataclass(frozen=True)
class ExpectedUsers:
    """What an order expects of some or all parties."""

    users: Mapping[str, int] = field(default_factory=dict)
    max_times: int = MAX_TIMES_EXPECTED

    def check_order(self, parties: Sequence[str]) -> None:
        """Refuse expectations that no party can meet."""
        for party, users in self.users.items():
            if party not in parties:
                raise UnknownName("party", party, parties)
            if type(users) is not int or not 1 <= users <= MAX_TICKETS:
                raise InvalidInput("expected_users_invalid", party=party, max_tickets=MAX_TICKETS, users=users)
        if type(self.max_times) is not int or not 1 <= self.max_times <= _LARGEST_MULTIPLE:
            raise InvalidInput(
                "max_times_expected_invalid", largest_multiple=_LARGEST_MULTIPLE, max_times=self.max_times
            )

    def check(self, party: str, found: int) -> None:
        """Refuse a party that says it has far more users than expected: they would outweigh everybody else's."""
        if party in self.users:
            expected = self.users[party]
            most = self.max_times * self.users[party]
            bound = f"{most:,} at most, {self.max_times} times the {expected:,} users expected"
            require(found <= most, "devices", bound, f"{found:,}")

    def flags(self, party: str, found: int) -> list[Note]:
        """Note a party that is counted and has grown beyond what was expected."""
        expected = self.users.get(party, found)
        if found <= FLAGGED_TIMES * expected:
            return []
        return [Note("more_users_than_expected", users=found, expected=expected, times=FLAGGED_TIMES)]

    def coverage(self, party: str, found: int) -> float | None:
        """Return the share of a party's expected users that were counted; None where nothing was expected."""
        return found / self.users[party] if party in self.users else None

    def covered(self, present: Sequence[CountedParty], missing: Sequence[CountedParty]) -> Covered:
        """Return the share of users that an answer stands for: of those expected if that was said, else of those known.

        Nothing is said of the share where nobody knows how many users a missing party has.
        """
        users = sum(party.users for party in present)
        sizes = [self.users.get(party.name, party.users) for party in missing]
        all_expected = all(party.name in self.users for party in (*present, *missing))
        known = sum(self.users.values()) if all_expected else users + sum(sizes)
        share = None if 0 in sizes or not known else users / known
        return Covered(users, "expected" if all_expected else "known", known, share)
