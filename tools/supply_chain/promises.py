"""Signed notes of what Treetop promises, version by version: docs/promises.md.

The notes carry a digest of every page of promises. Whoever changes a promise writes an entry and lets `make promises`
renew the digests; a test fails while they are old. A release signs the notes (`make sign-promises KEY=…`), and whoever
has the public key can check them (`make verify-promises PUBLIC=…`).
"""

import re
import sys
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from tools.supply_chain.locks import ROOT

from treetop.adapters.system.ed25519 import SIGNATURE_BYTES, PinnedKeys, SigningKey
from treetop.errors import InvalidInput

NOTES = ROOT / "docs" / "promises.md"
PAGES = {"explanation/privacy_guarantee.md": 2, "reliability.md": 2, "explanation/threat_model.md": 4}
"""The pages of promises, and how many columns of their tables are promises; the others say what shows them."""
DOMAIN = b"treetop promises 1\n"
_DIGEST = re.compile(r"^\| \[[^\]]+\]\((?P<page>[\w/.]+)\) \| `(?P<digest>[0-9a-f]{64})` \|$", re.MULTILINE)


def promises_in(page: str, columns: int) -> str:
    """Return what a page promises: the paragraph "The promise", and the first columns of its tables."""
    stated = re.findall(r"^\*\*The promise\.\*\*.*?(?=^Each section)", page, re.MULTILINE | re.DOTALL)
    rows = re.findall(r"^\|(.+)\|$", page, re.MULTILINE)
    return "\n".join([*stated, *("|".join(row.split(" | ")[:columns]).strip() for row in rows)])


def digests(docs: Path = ROOT / "docs") -> dict[str, str]:
    """Return the digest of every page's promises as they are now."""
    return {
        page: sha256(promises_in((docs / page).read_text("utf-8"), columns).encode()).hexdigest()
        for page, columns in PAGES.items()
    }


def noted(notes: str) -> dict[str, str]:
    """Return the digests of the newest version in the notes."""
    newest = re.split(r"^## ", notes, flags=re.MULTILINE)[1]
    return {found["page"]: found["digest"] for found in _DIGEST.finditer(newest)}


def renewed(notes: str, now: dict[str, str]) -> str:
    """Return the notes with the digests of now for the newest version; older versions stay as they were signed."""
    head, newest, *older = re.split(r"^(?=## )", notes, flags=re.MULTILINE)
    rows = [f"| [{page}]({page}) | `{digest}` |" for page, digest in now.items()]
    kept = [line for line in newest.rstrip("\n").split("\n") if not _DIGEST.match(line)]
    ending = "\n\n" if older else "\n"
    return head + "\n".join([*kept, *rows]) + ending + "".join(older)


def sign(notes: Path, key: Path) -> Path:
    """Write the signature of the notes beside them; return where."""
    signature = notes.with_name(notes.name + ".sig")
    signature.write_text(SigningKey.load(key).sign(DOMAIN + notes.read_bytes()).hex() + "\n", "ascii")
    return signature


def verified(notes: Path, public: Sequence[str]) -> bool:
    """Return whether one of the keys signed the notes as they are."""
    try:
        signature = bytes.fromhex(notes.with_name(notes.name + ".sig").read_text("ascii"))
    except (OSError, ValueError):
        return False
    keys = PinnedKeys(public)
    return len(signature) == SIGNATURE_BYTES and keys.verifies(DOMAIN + notes.read_bytes(), signature)


def main(words: Sequence[str]) -> int:
    """Renew the digests, sign, or verify."""
    match words:
        case ["renew"]:
            NOTES.write_text(renewed(NOTES.read_text("utf-8"), digests()), "utf-8")
        case ["sign", key]:
            if noted(NOTES.read_text("utf-8")) != digests():
                raise InvalidInput("a page of promises has changed: write an entry, then `make promises`")
            print(f"signed: {sign(NOTES, Path(key))}")
        case ["verify", *public] if public:
            good = verified(NOTES, public)
            print(f"{NOTES.name}: {'signed by this key' if good else 'NOT signed by this key as it is'}")
            return 0 if good else 1
        case _:
            raise InvalidInput("expected renew, sign KEY_FILE or verify PUBLIC_KEY")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except InvalidInput as problem:
        sys.exit(f"error: {problem}")
