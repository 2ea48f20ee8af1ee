"""What the server signs: tasks, candidate lists, beacons. One form for all: a kind, a content, a signature."""

import json
from typing import Any, Literal

from treetop.errors import PeerViolation
from treetop.federation.ports import Signer, Verifier
from treetop.federation.task import DeviceTask

Kind = Literal["task", "list", "beacon"]
_SIGNED_DOMAIN = b"treetop signed 1\0"


def canonical_json(content: object) -> bytes:
    """Return the one way to write JSON down: sorted keys, no spaces, ASCII."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return text.encode("ascii")


def signed(kind: Kind, content: bytes, signer: Signer) -> bytes:
    """Run by the server: a document that devices and parties can check."""
    signature = signer.sign(_signed_bytes(kind, content)).hex()
    return canonical_json({"content": content.decode("ascii"), "kind": kind, "signature": signature})


def checked(kind: Kind, document: bytes, verifier: Verifier) -> bytes:
    """Run by the device and the party: the content of a document that a pinned key signed, or a refusal."""
    try:
        parts = json.loads(document)
        found, signature = parts["kind"], bytes.fromhex(parts["signature"])
        content: bytes = parts["content"].encode("ascii")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise PeerViolation("signed document", "kind, content and signature", "something else") from None
    if found != kind or set(parts) != {"content", "kind", "signature"}:
        raise PeerViolation("kind of a signed document", kind, found)
    if not verifier.verifies(_signed_bytes(kind, content), signature):
        raise PeerViolation("signature", "one of a pinned key", "none")
    return content


def unverified_content(document: bytes) -> Any:
    """Return the content of a signed document whose signature somebody else checks."""
    try:
        return json.loads(document)["content"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise PeerViolation("signed document", "kind, content and signature", "something else") from None


def checked_task(document: bytes, verifier: Verifier) -> DeviceTask:
    """Run by the device and the party: the task of a signed document."""
    return DeviceTask.from_canonical_bytes(checked("task", document, verifier))


def signed_task(task: DeviceTask, signer: Signer) -> bytes:
    """Run by the server."""
    return signed("task", task.canonical_bytes(), signer)


def _signed_bytes(kind: Kind, content: bytes) -> bytes:
    return _SIGNED_DOMAIN + kind.encode("ascii") + b"\0" + content
