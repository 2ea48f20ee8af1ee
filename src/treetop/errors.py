"""The whole exception family, and the one warning."""

from collections.abc import Iterable
from difflib import get_close_matches

from treetop.public_text import visible

LONGEST_FOUND = 400
"""Of what a peer sent, in a message about it."""


class TreetopError(Exception):
    """Anything Treetop refuses to do, with a message for the person who asked: one line, whatever it quotes."""

    def __str__(self) -> str:
        return visible(super().__str__())


class TreetopWarning(UserWarning):
    """A note on an answer or an evaluation, for whoever asked from Python."""


class InvalidInput(TreetopError, ValueError):
    """The caller's mistake: the message says what was expected and what was found."""


class UnknownName(InvalidInput):
    """A name that is not on the list; the message offers the nearest one that is."""

    def __init__(self, kind: str, found: str, known: Iterable[str]) -> None:
        self.kind, self.found, self.known = kind, found, tuple(known)
        nearest = get_close_matches(found.lower(), self.known, n=1, cutoff=0.5)
        hint = f"; did you mean {nearest[0]!r}?" if nearest else ""
        super().__init__(f"unknown {kind} {found!r}, expected one of {', '.join(self.known)}{hint}")


class PromiseBroken(TreetopError):
    """A step that would have made a user answer twice; it was not taken."""


class BudgetExceeded(PromiseBroken):
    """An answer that would cost more than the user allows; it was not given."""

    def __init__(self, kind: str, expected: str, found: str) -> None:
        self.kind, self.expected, self.found = kind, expected, found
        super().__init__(f"the {kind} cap is epsilon {expected}, this answer would bring it to {found}")

    @property
    def code(self) -> str:
        """Return what a device may tell its party."""
        return f"budget_{self.kind}"


class LedgerRefused(PromiseBroken):
    """A ledger that is damaged or older than the device remembers; nothing is answered from it."""

    def __init__(self, what: str, expected: str, found: str) -> None:
        self.what, self.expected, self.found = what, expected, found
        super().__init__(f"the ledger's {what} should be {expected}, found {found}")


class PeerViolation(TreetopError):
    """The other side broke the protocol; nothing of its message was used."""

    def __init__(self, what: str, expected: object, found: object) -> None:
        self.what, self.expected, self.found = what, expected, found
        shown = str(found)
        shown = shown if len(shown) <= LONGEST_FOUND else shown[: LONGEST_FOUND - 3] + "..."
        super().__init__(f"{what}: expected {expected}, found {shown}")


class QuestionRefused(PeerViolation):
    """A question that a device does not answer, for reasons that are public."""


class NotMyWeek(QuestionRefused):
    """A task of a campaign in a week that is not the device's own."""

    code = "not_my_week"
    """What a device may tell its party."""


class ReportRefused(TreetopError):
    """One report that cannot be counted; the others of its batch stand."""

    def __init__(self, what: str, expected: object, found: object) -> None:
        self.what, self.expected, self.found = what, expected, found
        super().__init__(f"report refused, {what}: expected {expected}, found {found}")


class ValueUnavailable(TreetopError):
    """The device could not read its own value; the message never says why."""


class ReportFileRefused(TreetopError):
    """A file of reports that is damaged or of another task; nothing of it was counted."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: {reason}; nothing was counted")

    def __reduce__(self) -> tuple[type["ReportFileRefused"], tuple[str, str]]:
        return type(self), (self.path, self.reason)


class StoreDamaged(TreetopError):
    """A store whose content is not what was kept; nothing of the task is served or counted."""

    def __init__(self, task: str, what: str) -> None:
        self.task, self.what = task, what
        super().__init__(f"the store of task {task} is damaged: {what}; restore a backup, nothing was counted")


class StoreUnavailable(TreetopError):
    """A store that cannot write or read at the moment (disk full, database gone); nothing of the call was kept."""


class StoreBusy(StoreUnavailable):
    """More reports wait to be written than may wait; nothing of the call was kept."""

    def __init__(self, waiting: int, retry_after: int) -> None:
        self.waiting, self.retry_after = waiting, retry_after
        super().__init__(f"{waiting} reports wait to be written; try again in {retry_after} s")


class StoreRefused(TreetopError):
    """A store that must not be opened: held by another process, older than remembered, or of another version."""

    def __init__(self, where: str, reason: str) -> None:
        self.where, self.reason = where, reason
        super().__init__(f"the store {where} was not opened: {reason}")


class PartyUnreachable(TreetopError):
    """A party that does not answer at the moment; asking again may help."""

    def __init__(self, party: str, reason: str) -> None:
        self.party, self.reason = party, reason
        super().__init__(f"party {party!r} does not answer: {reason}")


class ServerUnreachable(PartyUnreachable):
    """A server that does not answer at the moment; asking again may help."""

    def __init__(self, server: str, reason: str) -> None:
        super().__init__(server, reason)
        self.args = (f"the server at {server} does not answer: {reason}",)


class QueryFailed(TreetopError):
    """A query that cannot be answered; the message says why."""
