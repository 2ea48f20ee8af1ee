"""How a benchmark measures: the best of several CPU times of one process, as a ratio to another in the same run."""

from collections.abc import Callable
from dataclasses import dataclass
from time import clock_gettime, perf_counter, process_time


@dataclass(frozen=True)
class Measured:
    """One line of the table: what was compared, the ratio, and the limits it must keep."""

    what: str
    ratio: float
    limit: float | None
    seconds: float
    reference_seconds: float
    at_least: float | None = None

    @property
    def passed(self) -> bool:
        above = self.limit is None or self.ratio <= self.limit
        return above and (self.at_least is None or self.ratio >= self.at_least)


@dataclass(frozen=True)
class Failed:
    """A comparison that could not be made, and why."""

    what: str
    error: str
    passed: bool = True


Row = Measured | Failed


def best_of(times: int, work: Callable[[], object], clock: Callable[[], float] = process_time) -> float:
    """Return the least CPU time (or wall time) of several tries."""

    def once() -> float:
        begin = clock()
        work()
        return clock() - begin

    return min(once() for _ in range(times))


def cpu_seconds_of(pid: int) -> float:
    """Return the CPU time of another process so far, all its threads together (Linux)."""
    return clock_gettime(~pid << 3 | 2)  # the process's clock of scheduled time, as clock_getcpuclockid(3) makes it


def best_wall_of(times: int, work: Callable[[], object]) -> float:
    return best_of(times, work, perf_counter)


def best_of_each(times: int, *works: Callable[[], object], clock: Callable[[], float] = process_time) -> list[float]:
    """Return the least time of each, taken in turns, so that a slow moment of the machine hits all alike."""
    rounds = [[best_of(1, work, clock) for work in works] for _ in range(times)]
    return [min(tries) for tries in zip(*rounds, strict=True)]


def ratio(
    what: str, work: Callable[[], object], reference_seconds: float, limit: float | None = None, times: int = 5
) -> Measured:
    """Measure work against a reference time of the same run."""
    seconds = best_of(times, work)
    return Measured(what, seconds / reference_seconds, limit, seconds, reference_seconds)


def times_as_fast(what: str, seconds: float, reference_seconds: float, at_least: float | None = None) -> Measured:
    """Say how many times as fast as a reference ours is."""
    return Measured(what, reference_seconds / seconds, None, seconds, reference_seconds, at_least)
