"""The whole exception family, and the one warning."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any

from treetop.public_text import visible
from treetop.wording import Note, word

LONGEST_FOUND = 400
"""Of what a peer sent, in a message about it."""


_CODE = re.compile("[a-z][a-z0-9_]*")


class TreetopError(Exception):
    """Anything that Treetop refuses to do, with a message of one line for the person who asked.

    It is raised with a code and parameters, which `wording/errors.py` words. A package that extends Treetop has no
    entry there and gives the sentence itself.
    """

    code: str = ""
    parameters: dict[str, Any]

    def __init__(self, code: str = "", /, **parameters: Any) -> None:
        super().__init__(code)
        self.parameters = {name: _plain(value) for name, value in parameters.items()}
        if _CODE.fullmatch(code):
            self.code = code

    def __str__(self) -> str:
        from treetop.wording.errors import ERRORS  # noqa: PLC0415  loaded only where an error is shown

        given = str(self.args[0]) if self.args else ""
        return visible(word(ERRORS, given, self.parameters) if _CODE.fullmatch(given) else given)

    def __reduce__(self) -> tuple[Any, ...]:
        # Subclasses take other arguments than `args`, so the default way to copy an error to a worker would fail.
        return _rebuild, (type(self), self.args, self.__dict__)


def _plain(value: object) -> object:
    """Return what JSON can carry as it is, and the text of anything else: a path, another error, a group."""
    if isinstance(value, list | tuple):
        return tuple(_plain(entry) for entry in value)
    return value if value is None or isinstance(value, str | int | float | Note) else str(value)


def _rebuild(kind: type[TreetopError], args: tuple[object, ...], fields: dict[str, Any]) -> TreetopError:
    error = kind.__new__(kind)
    error.args = args
    error.__dict__.update(fields)
    return error


class TreetopWarning(UserWarning):
    """A note on an answer or an evaluation, for callers of the Python interface."""


class InvalidInput(TreetopError, ValueError):
    """The caller's mistake."""


class OutputFailed(TreetopError):
    """A result that could not be written where it was asked for; it is in `rescued`, or on standard output."""

    def __init__(self, output: str, reason: str, rescued: str | None) -> None:
        self.rescued = rescued
        super().__init__("output_failed", output=output, reason=reason, rescued=rescued)


class UnknownName(InvalidInput):
    """A name that is not on the list; the message offers the nearest one that is."""

    def __init__(self, kind: str, found: str, known: Iterable[str]) -> None:
        self.kind = kind
        self.found = found
        self.known = tuple(known)
        nearest = get_close_matches(found.lower(), self.known, n=1, cutoff=0.5)
        super().__init__("unknown_name", kind=kind, found=found, known=self.known, nearest=next(iter(nearest), None))


class PromiseBroken(TreetopError):
    """A step that would have made a user answer twice; it was not taken."""


class BudgetExceeded(PromiseBroken):
    """An answer that would cost more than the user allows; it was not given.

    A device may tell its party the code: `budget_task`, `budget_window` or `budget_lifetime`.
    """

    def __init__(self, kind: str, expected: str, found: str) -> None:
        self.kind = kind
        self.expected = expected
        self.found = found
        super().__init__(f"budget_{kind}", expected=expected, found=found)


class LedgerRefused(PromiseBroken):
    """A ledger that is damaged or older than the device remembers; nothing is answered from it."""

    def __init__(self, what: str, expected: str, found: str) -> None:
        self.what = what
        self.expected = expected
        self.found = found
        super().__init__("ledger_refused", what=what, expected=expected, found=found)


class PeerViolation(TreetopError):
    """The other side broke the protocol; nothing of its message was used."""

    def __init__(self, what: str, expected: object, found: object) -> None:
        self.what = what
        self.expected = expected
        self.found = found
        shown = str(found)
        if len(shown) > LONGEST_FOUND:
            shown = shown[: LONGEST_FOUND - 3] + "..."
        super().__init__("peer_violation", what=what, expected=str(expected), found=shown)


class QuestionRefused(PeerViolation):
    """A question that a device does not answer, for reasons that are public."""


class NotMyWeek(QuestionRefused):
    """A task of a campaign in a week that is not the device's own. A device may tell its party the code."""

    def __init__(self, what: str, expected: object, found: object) -> None:
        super().__init__(what, expected, found)
        self.code = "not_my_week"


class ReportRefused(TreetopError):
    """One report that cannot be counted; the others of its batch stand."""

    def __init__(self, what: str, expected: object, found: object) -> None:
        self.what = what
        self.expected = expected
        self.found = found
        super().__init__("report_refused", what=what, expected=str(expected), found=str(found))


class ValueUnavailable(TreetopError):
    """The device could not read its own value; the message never says why."""


class ReportFileRefused(TreetopError):
    """A file of reports that is damaged or of another task; nothing of it was counted."""

    def __init__(self, path: str, reason: str) -> None:
        self.path = path
        self.reason = reason
        super().__init__("report_file_refused", path=path, reason=reason)


class StoreDamaged(TreetopError):
    """A store whose content is not what was kept; nothing of the task is served or counted."""

    def __init__(self, task: str, what: str) -> None:
        self.task = task
        self.what = what
        super().__init__("store_damaged", task=task, what=what)


class StoreUnavailable(TreetopError):
    """A store that cannot write or read at the moment (disk full, database gone); nothing of the call was kept."""


class StoreBusy(StoreUnavailable):
    """More reports wait to be written than may wait; nothing of the call was kept."""

    def __init__(self, waiting: int, retry_after: int) -> None:
        self.waiting = waiting
        self.retry_after = retry_after
        super().__init__("store_busy", waiting=waiting, retry_after=retry_after)


class StoreRefused(TreetopError):
    """A store that must not be opened: held by another process, older than remembered, or of another version."""

    def __init__(self, where: str, reason: str) -> None:
        self.where = where
        self.reason = reason
        super().__init__("store_refused", where=where, reason=reason)


class PartyUnreachable(TreetopError):
    """A party that does not answer at the moment; asking again may help."""

    def __init__(self, party: str, reason: str, /, code: str = "party_unreachable") -> None:
        self.party = party
        self.reason = reason
        super().__init__(code, name=party, reason=reason)


class ServerUnreachable(PartyUnreachable):
    """A server that does not answer at the moment; asking again may help."""

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(server, reason, "server_unreachable")


class QueryFailed(TreetopError):
    """A query that cannot be answered; the message says why."""
