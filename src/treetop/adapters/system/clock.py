"""The machine's own time."""

import time


class SystemClock:
    """Behind the `ServiceClock` port."""

    def now(self) -> int:
        """Return whole seconds since 1970; it may jump."""
        return int(time.time())

    def monotonic(self) -> float:
        """Return seconds that never go back."""
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        time.sleep(seconds)
