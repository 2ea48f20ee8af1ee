"""A journal that lasts as long as the process."""

from collections.abc import Mapping, Sequence
from threading import Lock


class MemoryJournal:
    """The `Journal` of a federation inside one process."""

    def __init__(self) -> None:
        self._books: dict[str, dict[str, bytes]] = {}
        self._turn = Lock()

    def write(self, book: str, entry: str, content: bytes) -> bytes:
        """Keep an entry and return it; if it is there already, return what is there."""
        with self._turn:
            return self._books.setdefault(book, {}).setdefault(entry, content)

    def read(self, book: str) -> Mapping[str, bytes]:
        """Return the entries of a book in the order they were written."""
        with self._turn:
            return dict(self._books.get(book, {}))

    def books(self) -> Sequence[str]:
        """Return the names of all books, oldest first."""
        with self._turn:
            return list(self._books)

    def close(self) -> None:
        """Do nothing: there are no files to close."""
