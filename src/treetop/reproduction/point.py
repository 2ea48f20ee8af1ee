"""One place of a table or figure."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Point:
    """Everything that a number depends on but the series."""

    federation: str
    case: str
    epsilon: float
    k: int
