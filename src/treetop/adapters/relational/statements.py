"""The statements that both databases understand, with `{}` where a value goes."""

from treetop.adapters.relational.states import TABLES, BookState, GroupState, StoreState, TaskState

Statements = dict[type, str]
KINDS = (StoreState, TaskState, GroupState, BookState)


def _columns(kind: type) -> str:
    return ", ".join((*kind._fields, "seal"))  # type: ignore[attr-defined]  # NamedTuples all


def _set(kind: type) -> str:
    return ", ".join(f"{name} = excluded.{name}" for name in (*kind._fields[1:], "seal"))  # type: ignore[attr-defined]


def selects(ending: str) -> Statements:
    """Return the statement that reads the rows of each kind."""
    return {kind: f"SELECT {_columns(kind)} FROM {TABLES[kind]} {ending}" for kind in KINDS}  # noqa: S608  our names


def upserts(place: str) -> Statements:
    """Return the statement that writes a row of each kind; `place` is how this database marks a value."""
    return {
        kind: f"INSERT INTO {TABLES[kind]} ({_columns(kind)}) VALUES ({', '.join([place] * (len(kind._fields) + 1))})"  # noqa: S608
        f" ON CONFLICT (number) DO UPDATE SET {_set(kind)}"
        for kind in KINDS
    }
