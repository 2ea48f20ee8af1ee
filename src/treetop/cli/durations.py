"""Durations as people write them: 90s, 15m, 24h, 7d."""

import re

from treetop.errors import InvalidInput

SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds_of(option: str, text: str) -> int:
    """Return a duration in seconds."""
    found = re.fullmatch(r"([1-9][0-9]{0,8})([smhd])", text.strip())
    if found is None:
        raise InvalidInput(f"{option} expects a duration such as 90s, 15m, 24h or 7d, found {text!r}")
    return int(found[1]) * SECONDS[found[2]]
