"""What travels in a Flower message: one call of the server to a party, and the party's answer.

A call is one of seven actions. Only its action, task, number, key and body travel: the party's end makes the address
of them, so that no other endpoint of a party can be reached through Flower.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

FORMAT: Final = 1
MAX_BODY_BYTES, MAX_REPLY_BYTES = 32 << 20, 1 << 28
"""Of what a party is given (a list of items is the longest), and of what it answers."""
MAX_NUMBER = 1_000_000
MAX_KEY_CHARACTERS = 512
CATEGORY = "query"
"""Flower's kind of message that is neither training nor evaluation."""
_TASK = re.compile("[0-9a-f]{64}")
_PRINTABLE = re.compile("[ -~]*")
Values = Mapping[str, Any]
"""What a ConfigRecord holds: integers, texts and bytes by name."""


class Malformed(Exception):
    """What is not what the other half of the bridge sends."""

    def __init__(self, what: str, expected: str, found: object) -> None:
        super().__init__(f"{what}: expected {expected}, found {str(found)[:80]!r}")


@dataclass(frozen=True)
class Action:
    """A call that the server makes; its address at the party has holes for a task and a number."""

    method: str
    path: str

    @property
    def pattern(self) -> re.Pattern[str]:
        """Return the expression that addresses of this action match."""
        text = re.escape(self.path).replace(r"\{task\}", f"(?P<task>{_TASK.pattern})")
        return re.compile(text.replace(r"\{number\}", "(?P<number>[1-9][0-9]{0,6})"))


ACTIONS: Final[Mapping[str, Action]] = {
    "install": Action("PUT", "/v1/tasks/{task}"),
    "list": Action("PUT", "/v1/tasks/{task}/items"),
    "campaign": Action("PUT", "/v1/tasks/{task}/campaign"),
    "tell": Action("PUT", "/v1/tasks/{task}/messages/{number}"),
    "outcome": Action("GET", "/v1/tasks/{task}/messages/{number}/outcome"),
    "progress": Action("GET", "/v1/tasks/{task}/standing"),
    "standing": Action("GET", "/v1/standing"),
}
_PATTERNS = {name: action.pattern for name, action in ACTIONS.items()}


@dataclass(frozen=True)
class Call:
    """One call of the server."""

    action: str
    task: str = ""
    number: int = 0
    key: str = field(default="", repr=False)
    """The Authorization header, as the server wrote it: the party checks it."""
    body: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        if self.action not in ACTIONS:
            raise Malformed("action", ", ".join(ACTIONS), self.action)
        path = ACTIONS[self.action].path
        if not (_TASK.fullmatch(self.task) if "{task}" in path else self.task == ""):
            raise Malformed("task", "64 hexadecimal digits where the action has a task", self.task)
        if not (1 <= self.number <= MAX_NUMBER if "{number}" in path else self.number == 0):
            raise Malformed("number", f"1 to {MAX_NUMBER} where the action has one", self.number)
        if len(self.key) > MAX_KEY_CHARACTERS or not _PRINTABLE.fullmatch(self.key):
            raise Malformed("key", f"{MAX_KEY_CHARACTERS} printable characters at most", f"{len(self.key)} characters")
        if len(self.body) > (MAX_BODY_BYTES if self.method == "PUT" else 0):
            raise Malformed("bytes of a body", f"{MAX_BODY_BYTES} at most, none with GET", len(self.body))

    @property
    def method(self) -> str:
        """Return the HTTP method."""
        return ACTIONS[self.action].method

    @property
    def path(self) -> str:
        """Return the address at the party."""
        return ACTIONS[self.action].path.format(task=self.task, number=self.number)

    @property
    def message_type(self) -> str:
        """Return what Flower calls it."""
        return f"{CATEGORY}.{self.action}"

    def to_values(self) -> Values:
        """Return what a ConfigRecord is made of."""
        return {"format": FORMAT, "task": self.task, "number": self.number, "key": self.key, "body": self.body}

    @classmethod
    def from_values(cls, action: str, values: Values) -> "Call":
        """Read a call as it arrives, or refuse it."""
        _check(values, {"format": int, "task": str, "number": int, "key": str, "body": bytes})
        return cls(action, values["task"], values["number"], values["key"], values["body"])


@dataclass(frozen=True)
class Answer:
    """What the party said."""

    status: int
    body: bytes = field(default=b"", repr=False)

    def __post_init__(self) -> None:
        if not 200 <= self.status <= 599:
            raise Malformed("status", "200 to 599", self.status)
        if len(self.body) > MAX_REPLY_BYTES:
            raise Malformed("bytes of an answer", f"{MAX_REPLY_BYTES} at most", len(self.body))

    def to_values(self) -> Values:
        """Return what a ConfigRecord is made of."""
        return {"format": FORMAT, "status": self.status, "body": self.body}

    @classmethod
    def from_values(cls, values: Values) -> "Answer":
        """Read an answer as it arrives, or refuse it."""
        _check(values, {"format": int, "status": int, "body": bytes})
        return cls(values["status"], values["body"])


def call_at(method: str, path: str, key: str = "", body: bytes = b"") -> Call | None:
    """Return the call that a request is, or None if nothing of the kind is carried."""
    for name, pattern in _PATTERNS.items():
        found = pattern.fullmatch(path)
        if found and ACTIONS[name].method == method:
            parts = found.groupdict()
            return Call(name, parts.get("task", ""), int(parts.get("number", 0)), key, body)
    return None


def _check(values: Values, kinds: Mapping[str, type]) -> None:
    if set(values) != set(kinds):
        raise Malformed("parts of a message", ", ".join(sorted(kinds)), ", ".join(sorted(map(str, values))))
    for name, kind in kinds.items():
        if type(values[name]) is not kind:
            raise Malformed(name, kind.__name__, type(values[name]).__name__)
    if values["format"] != FORMAT:
        raise Malformed("format", str(FORMAT), values["format"])
