"""The machine's own time."""

import time


class SystemClock:
    """The `ServiceClock` port."""

    def now(self) -> int:
        """Return whole seconds since 1970; it may jump."""
        return int(time.time())

    def monotonic(self) -> float:
        """Return seconds of a monotonic clock."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        time.sleep(seconds)
