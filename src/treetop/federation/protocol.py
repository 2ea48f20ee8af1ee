"""What server and party say to each other about one task: numbered messages, each with one outcome.

The server tells message 1, 2, ...; the party keeps it, acts, and keeps the outcome. Both may be asked for again and are
the same bytes for ever, so a crash on either side is repaired by asking again.

    server                                   party
    close        end of enrolment/reports -> closed     how many, by group
    begin        who takes part, beacon   -> upload | list | withdrawn | done
    say          the mechanism's message  -> upload | list | withdrawn | done
    publish      the signed list (rounds) -> upload | list | withdrawn | done

`list` asks the server to sign a candidate list before devices see it; `upload` is the mechanism's; `done` is its last.
The content of `say`, `upload` and `done` is what `messages` writes for the mechanism.
"""

import json
from dataclasses import dataclass
from typing import Any, Literal, get_args

from treetop.errors import PeerViolation
from treetop.federation.wire.signed_documents import canonical_json

MessageKind = Literal["close", "begin", "say", "publish"]
ReplyKind = Literal["closed", "list", "upload", "done", "withdrawn"]


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
        """Read a message back, or refuse it."""
        return cls(*_parts(data, get_args(MessageKind)))


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
        """Read an outcome back, or refuse it."""
        return cls(*_parts(data, get_args(ReplyKind)))


def _parts(data: bytes, kinds: tuple[str, ...]) -> tuple[Any, Any]:
    try:
        parts = json.loads(data, parse_constant=_refused)
        kind, content = parts["kind"], parts["content"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise PeerViolation("message", "kind and content", "something else") from None
    if kind not in kinds or len(parts) != 2:
        raise PeerViolation("kind of a message", ", ".join(kinds), kind)
    return kind, content


def _refused(word: str) -> None:
    raise ValueError(word)
