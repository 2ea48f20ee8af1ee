"""What is asked of users who hold many items: how many of them a report speaks of, and what its counts estimate."""

from dataclasses import dataclass

from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.set_reports import MAX_ITEMS

DEFAULT_ITEMS = 8
HOLDERS, SHARES, USE_SHARES = READINGS = ("holders", "shares", "use_shares")
OCCURRENCES = "occurrences"


@dataclass(frozen=True)
class SetQuestion:
    """How many items of a user her one report speaks of at most, and what its counts estimate."""

    items_per_user: int
    """m."""
    reading: str
    """holders: users with an item, each weighing min(1, m / |S|); shares: every user 1 / |S| for each of her items;
    use_shares: every user, for each of her items, the share that it has of her uses."""

    def __post_init__(self) -> None:
        if self.reading == OCCURRENCES:
            raise InvalidInput("reading_occurrences", readings=", ".join(READINGS))
        if self.reading not in READINGS:
            raise UnknownName("reading", self.reading, READINGS)
        if not 1 <= self.items_per_user <= MAX_ITEMS:
            raise InvalidInput("items_per_user_range", max_items=MAX_ITEMS, items_per_user=self.items_per_user)
        if self.reading != HOLDERS and self.items_per_user != 1:
            raise InvalidInput("reading_of_one_item", reading=self.reading, items_per_user=self.items_per_user)

    @classmethod
    def of(cls, items_per_user: int | None, reading: str | None) -> "SetQuestion":
        """Return the question with what was left open: 8 items, or one where every user weighs 1 in all."""
        one_item = reading in (SHARES, USE_SHARES)
        items = (1 if one_item else DEFAULT_ITEMS) if items_per_user is None else items_per_user
        return cls(items, reading or (SHARES if items == 1 else HOLDERS))
