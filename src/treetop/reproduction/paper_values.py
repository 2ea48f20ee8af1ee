"""The numbers that the paper prints, as data, with the line of its source they stand in."""

from collections.abc import Iterable
from dataclasses import dataclass

from treetop.reproduction.point import Point


@dataclass(frozen=True)
class PaperRow:
    """Printed values of one row of a table, by series; or values that a sentence quotes from a figure."""

    metric: str
    line: int
    values: dict[str, float | str]
    """A number, or text where the paper prints no number, such as `> 72 h`."""
    federation: str = ""
    case: str = ""
    epsilon: float | None = None
    k: int | None = None
    remark: str = ""
    """For example a known erratum of the paper."""

    def is_at(self, metric: str, point: Point) -> bool:
        """Say whether the row speaks of that place; what it leaves open fits every place."""
        return (
            self.metric == metric
            and self.federation in ("", point.federation)
            and self.case == point.case
            and self.epsilon in (None, point.epsilon)
            and self.k in (None, point.k)
        )


def printed(rows: Iterable[PaperRow], metric: str, point: Point) -> PaperRow:
    """Return what the paper prints for a place: an empty row where it prints nothing."""
    for row in rows:
        if row.is_at(metric, point):
            return row
    return PaperRow(metric, 0, {})
