"""The clock of tests: it stands still until somebody sleeps or sets it."""

NOW = 1_800_000_000


class HandClock:
    """Time that passes when somebody sleeps; the wall clock jumps when a test changes it."""

    def __init__(self, now: int = NOW, speed: float = 1) -> None:
        self.wall, self.passed, self._speed = now, 0.0, speed
        self.slept: list[float] = []

    def now(self) -> int:
        return self.wall + int(self.passed)

    def monotonic(self) -> float:
        return self.passed

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.passed += seconds * self._speed
