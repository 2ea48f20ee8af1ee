"""What PostgreSQL reports, as the store tells it: for the moment unavailable, or damaged."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from treetop.adapters.relational.states import RowDamaged
from treetop.errors import StoreUnavailable

_PASSING = (
    psycopg.OperationalError,
    psycopg.InterfaceError,
    errors.ReadOnlySqlTransaction,
    errors.InsufficientPrivilege,
)


@contextmanager
def translated() -> Iterator[None]:
    """Turn what the database reports into `StoreUnavailable` or `RowDamaged`."""
    try:
        yield
    except _PASSING as error:
        raise StoreUnavailable(f"the database cannot be used: {_first_line(error)}") from error
    except psycopg.Error as error:
        raise RowDamaged(_first_line(error)) from error


def _first_line(error: psycopg.Error) -> str:
    return f"{str(error).partition(chr(10))[0]} ({type(error).__name__})"
