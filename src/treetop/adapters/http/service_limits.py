"""What one client may ask of a service, and how much the service does at once."""

from dataclasses import dataclass

from treetop.errors import InvalidInput
from treetop.federation.wire.item_lists import MAX_LIST_BYTES


@dataclass(frozen=True)
class ServiceLimits:
    """The limits of every service, with the defaults of a server."""

    most_body_bytes: int = 1 << 20
    requests_at_once: int = 200
    body_seconds: int = 15
    """For the head of a request, and again for its body."""
    connections_at_once: int = 800
    """Below the 1,024 files that many systems let a process open."""
    most_bytes_in_flight: int = 64 << 20
    """Of all requests that are not answered yet, but for the first 16 KiB of each."""
    most_list_bytes: int = MAX_LIST_BYTES
    """Of a list of items as it is sent, compressed."""

    def __post_init__(self) -> None:
        problems = self.problems()
        if problems:
            raise InvalidInput("settings_invalid", problems=problems)

    def problems(self) -> list[str]:
        """Return what is wrong with them."""
        small = [f"{name} must be 1 at least, found {number}" for name, number in vars(self).items() if number < 1]
        sizes = {"most_body_bytes": self.most_body_bytes, "most_list_bytes": self.most_list_bytes}
        hold = "most_bytes_in_flight must hold one body at least: raise it or lower"
        return small + [f"{hold} {name}" for name, size in sizes.items() if size > self.most_bytes_in_flight]
