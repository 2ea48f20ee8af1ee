"""Connections to a PostgreSQL store: which processes may hold it, and how a lost connection is replaced."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from threading import RLock
from time import monotonic, sleep
from typing import Any, LiteralString, Protocol

import psycopg
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg_pool import ConnectionPool

from treetop.adapters.relational.commit_numbers import Share
from treetop.adapters.relational.tables import RowDamaged
from treetop.errors import InvalidInput, StoreUnavailable

STORE_LOCKS = 0x54524545
COORDINATOR_LOCKS = 0x54524546
"""The high halves of advisory locks; the low half is the number of the store's own table, so stores do not meet."""
POOL_SIZE = 4
"""Connections of an intake: one writes reports, the others answer enrolments, tickets and the server."""
POOL_SECONDS = 10.0
"""How long a call waits for a connection."""
_SESSION: tuple[LiteralString, ...] = (
    "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'",
    "SET default_transaction_isolation = 'read committed'",  # a process that waited for a row reads it as it is now
    # The database lets go of a process whose machine is gone within half a minute, so that its successor may begin.
    "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3",
    "SET tcp_user_timeout = 30000",
)
_KEY: LiteralString = "(%s::bigint << 32 | 'treetop_schema'::regclass::oid::bigint)"
_EXCLUSIVE: LiteralString = f"SELECT pg_try_advisory_lock{_KEY}"
_SHARED: LiteralString = f"SELECT pg_try_advisory_lock_shared{_KEY}"
_HOLDS: dict[Share, tuple[tuple[LiteralString, int], ...]] = {
    "alone": ((_EXCLUSIVE, STORE_LOCKS),),
    "coordinator": ((_SHARED, STORE_LOCKS), (_EXCLUSIVE, COORDINATOR_LOCKS)),
    "intake": ((_SHARED, STORE_LOCKS),),
}
"""The advisory locks of a connection, which end with it."""
_PASSING = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    errors.ReadOnlySqlTransaction,
    errors.InsufficientPrivilege,
)
Connection = psycopg.Connection[tuple[Any, ...]]


class Connections(Protocol):
    """Where a transaction takes its connection from."""

    def at_hand(self) -> AbstractContextManager[Connection]:
        """Give a connection that holds the store, or raise `StoreUnavailable`."""
        ...

    def close(self) -> None:
        """Close all of them; again, nothing."""
        ...


class OneConnection:
    """The connection of a process that is alone, or of the coordinator: a process that lost its lock writes nothing."""

    def __init__(self, address: str, shown: str, share: Share, connection: Connection) -> None:
        self._address = address
        self._shown = shown
        self._share = share
        self._connection = connection
        self._closed = False
        self._turn = RLock()

    @contextmanager
    def at_hand(self) -> Iterator[Connection]:
        """Give the connection to one thread at a time; one that was lost is replaced."""
        with self._turn:
            if self._closed:
                raise StoreUnavailable("store_closed")
            if self._connection.closed:
                connection = connected(self._address)
                if not held(connection, self._share, 0):
                    connection.close()
                    raise StoreUnavailable("store_held", shown=self._shown)
                self._connection = connection
            yield self._connection

    def close(self) -> None:
        """Close the connection; again, nothing."""
        with self._turn:
            self._closed = True
            self._connection.close()


class PooledConnections:
    """The connections of an intake; each holds the store against a process that wants to be alone."""

    def __init__(self, address: str, shown: str) -> None:
        self._shown = shown
        self._pool: ConnectionPool[Connection] = ConnectionPool(
            address,
            kwargs={"autocommit": True},
            configure=self._prepared,
            check=ConnectionPool.check_connection,
            min_size=1,
            max_size=POOL_SIZE,
            timeout=POOL_SECONDS,
            open=True,
        )

    def _prepared(self, connection: Connection) -> None:
        begin_session(connection)
        if not held(connection, "intake", 0):
            raise StoreUnavailable("store_held_exclusively", shown=self._shown)

    def at_hand(self) -> AbstractContextManager[Connection]:
        """Give a connection that answers."""
        return self._pool.connection()

    def close(self) -> None:
        """Close all connections; again, nothing."""
        self._pool.close()


def with_limits(address: str) -> str:
    """Return the address with a limit on waiting, unless it has one; its password is in no message."""
    try:
        given = conninfo_to_dict(address)
    except (psycopg.ProgrammingError, UnicodeDecodeError):
        raise InvalidInput("postgres_address") from None
    return address if "connect_timeout" in given else make_conninfo(address, connect_timeout=10)


def connected(address: str) -> Connection:
    """Return a new connection, or raise why there is none, without user and password."""
    try:
        connection = psycopg.connect(address, autocommit=True)
    except psycopg.Error as error:
        problem = _first_line(error)
        given = conninfo_to_dict(address)
        for secret in filter(None, (given.get("password"), given.get("user"))):
            problem = problem.replace(str(secret), "…")
        raise StoreUnavailable("database_unusable", problem=problem) from None
    begin_session(connection)
    return connection


def begin_session(connection: Connection) -> None:
    """Set what every connection relies on."""
    for statement in _SESSION:
        connection.execute(statement)


def held(connection: Connection, share: Share, seconds: float) -> bool:
    """Return whether this connection holds the store as it should, if need be after some waiting."""
    limit = monotonic() + seconds
    for statement, locks in _HOLDS[share]:
        while connection.execute(statement, (locks,)).fetchone() != (True,):
            if monotonic() >= limit:
                return False
            sleep(0.1)
    return True


@contextmanager
def translated() -> Iterator[None]:
    """Turn what the database reports into `StoreUnavailable` or `RowDamaged`."""
    try:
        yield
    except (*_PASSING, OSError) as error:
        raise StoreUnavailable("database_unusable", problem=_first_line(error)) from error
    except psycopg.Error as error:
        raise RowDamaged(_first_line(error)) from error


def _first_line(error: Exception) -> str:
    return f"{str(error).partition(chr(10))[0]} ({type(error).__name__})"
