"""The whole exception family."""

from collections.abc import Iterable
from difflib import get_close_matches


class TreetopError(Exception):
    """Anything Treetop refuses to do, with a message for the person who asked."""


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


class ReportFileRefused(TreetopError):
    """A file of reports that is damaged or of another task; nothing of it was counted."""

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path}: {reason}; nothing was counted")

    def __reduce__(self) -> tuple[type["ReportFileRefused"], tuple[str, str]]:
        return type(self), (self.path, self.reason)
