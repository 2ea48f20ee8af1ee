"""What server and party say to each other about one task, and in which order: one table, which both sides check by.

The server's messages are numbered 1, 2, ...; a party keeps each, acts, and keeps its one reply. Both may be asked for
again and are the same bytes for ever, so a crash on either side is repaired by asking again. `make docs` prints
the table into docs/explanation/federation.md.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal, get_args

from treetop.errors import PeerViolation
from treetop.federation.documents import canonical_json
from treetop.mechanisms.strict_json import public_texts, record, require

MessageKind = Literal["close", "begin", "say", "publish"]
ReplyKind = Literal["closed", "list", "upload", "done", "withdrawn"]
LEVEL_REPORT = ("traces", "notes", "groups", "implausible")
"""Parts of every reply of a mechanism's dialogue: what `LevelReport` reads."""
OF_A_DIALOGUE: tuple[ReplyKind, ...] = ("list", "upload", "done", "withdrawn")


@dataclass(frozen=True)
class MessageRule:
    """A message of the server."""

    after: ReplyKind | None
    """The reply that it follows; None: it is the first."""
    parts: tuple[str, ...]
    replies: tuple[ReplyKind, ...]
    says: str
    does: str
    """What a party does with it."""


@dataclass(frozen=True)
class ReplyRule:
    """A reply of a party; one that no message follows is its last."""

    parts: tuple[str, ...]
    means: str
    rounds_only: bool = False
    at_times: tuple[str, ...] = ()
    """Parts that are there only where there is something to say."""


MAX_MESSAGE_BYTES = 4 << 20
MAX_REPLY_BYTES = 1 << 28
"""Of a message that a party takes (its `most_body_bytes` unless its settings say otherwise), and of a reply."""

MESSAGES: dict[MessageKind, MessageRule] = {
    "close": MessageRule(
        None, (), ("closed",), "reports (one-shot) or enrolment (rounds) end", "waits for their deadline, then closes"
    ),
    "begin": MessageRule(
        "closed",
        ("roster", "beacon", "message"),
        OF_A_DIALOGUE,
        "who takes part with how many users, the signed beacon (rounds), the mechanism's first message",
        "runs the mechanism's dialogue",
    ),
    "say": MessageRule("upload", ("message",), OF_A_DIALOGUE, "the mechanism's next message", "goes on"),
    "publish": MessageRule(
        "list", ("document",), OF_A_DIALOGUE, "the signed list", "shows it to its devices, waits, counts, goes on"
    ),
}
REPLIES: dict[ReplyKind, ReplyRule] = {
    "closed": ReplyRule(
        ("devices", "tickets", "digest", "groups"),
        "devices, tickets, digest of the enrolled, reports by group; devices that may not answer, by code",
        at_times=("refusals",),
    ),
    "list": ReplyRule(("list", *LEVEL_REPORT), "a candidate list to be signed before devices see it", rounds_only=True),
    "upload": ReplyRule(
        ("upload", *LEVEL_REPORT), "a partial result, which the mechanism of the server answers with its next message"
    ),
    "done": ReplyRule(("upload", *LEVEL_REPORT), "the mechanism's last upload"),
    "withdrawn": ReplyRule(("reason", *LEVEL_REPORT), "the party takes part no longer, and why"),
}


@dataclass(frozen=True)
class ServerMessage:
    """Server to party."""

    kind: MessageKind
    content: Any = None

    def to_bytes(self) -> bytes:
        """Return its canonical form."""
        return canonical_json({"kind": self.kind, "content": self.content})

    @classmethod
    def from_bytes(cls, data: bytes) -> "ServerMessage":
        """Read a message as it arrives, or refuse it."""
        return cls(*_read(data, get_args(MessageKind)))

    def parts_after(self, reply: ReplyKind | None) -> dict[str, Any]:
        """Run by the party: its parts, if it is the message that follows this reply."""
        expected = next((kind for kind, rule in MESSAGES.items() if rule.after == reply), "none")
        require(self.kind == expected, f"kind of the message after {reply or 'none'}", expected, self.kind)
        return record(self.kind, {} if self.content is None else self.content, set(MESSAGES[self.kind].parts))


@dataclass(frozen=True)
class PartyReply:
    """Party to server."""

    kind: ReplyKind
    content: Any = None

    def to_bytes(self) -> bytes:
        """Return its canonical form."""
        return canonical_json({"kind": self.kind, "content": self.content})

    @classmethod
    def from_bytes(cls, data: bytes) -> "PartyReply":
        """Read a reply as it arrives, or refuse it."""
        return cls(*_read(data, get_args(ReplyKind)))

    @property
    def is_last(self) -> bool:
        """Return whether no message follows."""
        return all(rule.after != self.kind for rule in MESSAGES.values())

    def parts_to(self, message: MessageKind, *, one_shot: bool) -> dict[str, Any]:
        """Run by the server: its parts, if it may answer this message."""
        known = [kind for kind in MESSAGES[message].replies if not (one_shot and REPLIES[kind].rounds_only)]
        require(self.kind in known, f"kind of the reply to {message}", " or ".join(known), self.kind)
        rule = REPLIES[self.kind]
        optional = {part for part in rule.at_times if isinstance(self.content, dict) and part in self.content}
        return record(self.kind, self.content, {*rule.parts, *optional})


def _read(data: bytes, kinds: tuple[str, ...]) -> tuple[Any, Any]:
    try:
        parts = json.loads(data, parse_constant=_refused)
        kind = parts["kind"]
        content = parts["content"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise PeerViolation("message", "kind and content", "something else") from None
    if kind not in kinds or len(parts) != 2:
        raise PeerViolation("kind of a message", ", ".join(kinds), kind)
    if not data.isascii() or b"\\" in data or b"\x7f" in data:  # otherwise there is nothing hidden in it
        public_texts(kind, content)
    return kind, content


def _refused(word: str) -> None:
    raise ValueError(word)
