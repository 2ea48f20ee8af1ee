"""How a benchmark measures: the best of several CPU times of one process, as a ratio to another in the same run."""

from collections.abc import Callable
from dataclasses import dataclass
from time import process_time


@dataclass(frozen=True)
class Measured:
    """One line of the table: what was compared, the ratio, and the limit it must stay below."""

    what: str
    ratio: float
    limit: float | None
    seconds: float
    reference_seconds: float

    @property
    def passed(self) -> bool:
        return self.limit is None or self.ratio <= self.limit


def best_of(times: int, work: Callable[[], object]) -> float:
    """Return the least CPU time of several tries."""

    def once() -> float:
        begin = process_time()
        work()
        return process_time() - begin

    return min(once() for _ in range(times))


def ratio(
    what: str, work: Callable[[], object], reference_seconds: float, limit: float | None = None, times: int = 5
) -> Measured:
    """Measure work against a reference time of the same run."""
    seconds = best_of(times, work)
    return Measured(what, seconds / reference_seconds, limit, seconds, reference_seconds)
