"""The journal in tables: every entry's seal continues the one before, and the book keeps the last."""

from collections.abc import Mapping, Sequence
from threading import Lock
from types import MappingProxyType

from treetop.adapters.relational.tables import (
    BookState,
    Database,
    RowDamaged,
    Rows,
    StoreState,
    expected,
    naming,
    seal_of,
)


class _Book:
    """What this process has read of a book."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.head = b""
        self.entries: dict[str, bytes] = {}


class RelationalJournal:
    """The `Journal` port; entries are read once, checked, and kept in memory."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._books = dict[str, _Book]()
        self._lock = Lock()

    def write(self, book: str, entry: str, content: bytes) -> bytes:
        """Keep an entry and return it once it is durable; if it is there already, return what is there."""
        with self._lock, naming(book):
            with self._database.transaction() as rows:
                rows.state(StoreState, 1)  # before the book's row, always: two processes must not wait for each other
                read = self._caught_up(rows, book) or _new_book(rows, book)
                if entry in read.entries:
                    return read.entries[entry]
                number = len(read.entries) + 1
                head = seal_of(read.head, entry, content)
                rows.add_entry(read.number, number, entry, content)
                rows.save(BookState(read.number, book, number, head))
            # The commit is over: only now the entry is there.
            read.head = head
            read.entries[entry] = content
            return content

    def read(self, book: str) -> Mapping[str, bytes]:
        """Return the entries of a book in the order they were written."""
        with self._lock, naming(book), self._database.transaction() as rows:
            read = self._caught_up(rows, book)
            return MappingProxyType(dict(read.entries) if read else {})

    def get(self, book: str, entry: str) -> bytes | None:
        """Return one entry, or None; a book's seals are checked from its beginning, but only what is new is read."""
        with self._lock, naming(book), self._database.transaction() as rows:
            read = self._caught_up(rows, book)
            return read.entries.get(entry) if read else None

    def books(self) -> Sequence[str]:
        """Return the names of all books, oldest first."""
        with self._lock, naming(), self._database.transaction() as rows:
            return [state.name for state in _all_books(rows)]

    def lengths(self) -> Mapping[str, int]:
        """Return how many entries every book has, without waiting for anybody: what has grown may be read."""
        with naming(), self._database.transaction() as rows:
            return {state.name: state.entries for state in rows.states(BookState)}

    def close(self) -> None:
        """Close files and connections."""
        self._database.close()

    def _caught_up(self, rows: Rows, name: str) -> _Book | None:
        """Return a book with all that was written to it, by this process or another."""
        if name not in self._books:
            found = [state for state in _all_books(rows) if state.name == name]
            if not found:
                return None
            self._books[name] = _Book(found[0].number)
        read = self._books[name]
        state = rows.state(BookState, read.number)
        if len(read.entries) < state.entries:
            self._books[name] = read = _read_on(rows, read)
        expected(
            "entries of the journal", (state.name, state.entries, state.head), (name, len(read.entries), read.head)
        )
        return read


def _all_books(rows: Rows) -> list[BookState]:
    store = rows.state(StoreState, 1)
    states = rows.states(BookState)
    expected("books", store.books, len(states))
    return states


def _new_book(rows: Rows, name: str) -> _Book:
    store = rows.state(StoreState, 1)
    rows.save(store._replace(books=store.books + 1))
    rows.save(BookState(store.books + 1, name))
    return _Book(store.books + 1)


def _read_on(rows: Rows, read: _Book) -> _Book:
    """Return a copy that goes on to the end: a damaged book must not be remembered in part."""
    longer = _Book(read.number)
    longer.head = read.head
    longer.entries = dict(read.entries)
    for number, name, content in rows.entries(read.number, len(read.entries)):
        if name in longer.entries or number != len(longer.entries) + 1:
            raise RowDamaged(f"entry {number} of the journal was changed")
        longer.head = seal_of(longer.head, name, content)
        longer.entries[name] = content
    return longer
