"""One thread for each task: it answers the server's messages, however long that takes."""

from collections.abc import Callable
from threading import Event, Lock, Thread

from treetop.adapters.system.field_work import Stopped

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0


class QueryWorkers:
    """Run by the party: threads that are woken by a message and end with the service."""

    def __init__(self, work: Callable[[bytes], bool], failed: Callable[[bytes, Exception], None]) -> None:
        self._work, self._failed = work, failed
        self._news: dict[bytes, Event] = {}
        self._threads: list[Thread] = []
        self._stop, self._lock = Event(), Lock()

    def stopping(self) -> bool:
        """Return whether the service ends: whoever waits should stop."""
        return self._stop.is_set()

    def wake(self, task: bytes) -> None:
        """Let the task's thread look for messages; the first time, start it."""
        with self._lock:
            if self.stopping():
                return
            if task not in self._news:
                self._news[task] = Event()
                self._start(task)
            self._news[task].set()

    def _start(self, task: bytes) -> None:
        thread = Thread(target=self._run, args=(task,), name=f"query {task.hex()[:8]}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def stop(self, seconds: float = 10) -> None:
        """End all threads; one that counts at the moment is left behind after so many seconds."""
        self._stop.set()
        with self._lock:
            for news in self._news.values():
                news.set()
        for thread in self._threads:
            thread.join(seconds)

    def _run(self, task: bytes) -> None:
        news, pause = self._news[task], FIRST_PAUSE
        while not self.stopping():
            news.clear()
            try:
                while not self.stopping() and self._work(task):
                    pause = FIRST_PAUSE
            except Stopped:
                return
            except Exception as error:  # whatever it is, the next attempt may succeed, and the journal has not moved
                self._failed(task, error)
                self._stop.wait(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
                continue
            news.wait()
