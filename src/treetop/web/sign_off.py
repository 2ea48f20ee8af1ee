"""One page that a privacy officer can sign: what was promised, who saw what, who keeps what, and what was checked."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import treetop
from treetop.answers.answer import SIMULATION, Answer
from treetop.answers.json_form import SCHEMA
from treetop.audit.checks import AuditReport
from treetop.audit.documents import Circumstances
from treetop.errors import InvalidInput
from treetop.web.answer_view import Promise, chart, coverage, flow_of, promises
from treetop.web.drawings.svg import Picture
from treetop.web.exports import json_of

MAX_BARS = 10
"""Items on the page, so that it stays one; the exports have all of them."""
NOT_RUN = "not run here: `treetop audit --output audit.json` records one, and the page can be given that file"
RETENTION = (
    ("A device", "a ledger: task, group, cost and the bytes of its report", "for ever, or it would answer twice"),
    (
        "A party",
        "reports with the numbers of their tickets",
        "until their group closes, the task's deadline at the latest",
    ),
    ("A party", "reports in the order of their bytes, linked to nobody", "until its operator deletes their files"),
    ("A party", "which tickets were used; the journal of its replies", "as long as its store is kept"),
    ("The server", "orders, lists, parties' totals, signed tasks and answers", "as long as its journal is kept"),
)
"""As docs/sign_off/data_and_roles.md says, which has more."""
SIMULATED = (("This machine", "the file that was given, which the page does not change", "as long as its owner likes"),)


@dataclass(frozen=True)
class AuditRecord:
    """What a recorded audit said, when it began, and of what code it was."""

    verdict: str
    passed: int
    claims: int
    date: str
    version: str
    code: str
    extent: str

    def __str__(self) -> str:
        return (
            f"{self.verdict}: {self.passed} of {self.claims} claims hold ({self.extent}); begun {self.date}, "
            f"Treetop {self.version}, code {self.code[:16]}…"
        )


def read_audit(path: Path) -> AuditRecord:
    """Read a file that `treetop audit --output` wrote as JSON, or refuse another one."""
    try:
        found: Any = json.loads(path.read_bytes())
    except OSError as reason:
        raise InvalidInput("audit_file_unreadable", path=path, reason=reason.strerror) from None
    except (ValueError, RecursionError):
        found = None
    about = {each.name for each in fields(Circumstances)}
    try:
        checks = [check["passed"] for check in found["checks"]]
        holds = found.keys() == about | AuditReport(()).as_json().keys() and all(type(said) is bool for said in checks)
        holds = holds and bool(checks) and found["verdict"] == ("pass" if all(checks) else "fail")
        holds = holds and all(type(found[name]) is str for name in about)
    except (TypeError, KeyError, AttributeError):
        holds = False
    if not holds:
        raise InvalidInput("audit_file_malformed", path=path)
    recorded = {name: found[name] for name in ("verdict", "date", "version", "code", "extent")}
    return AuditRecord(passed=sum(checks), claims=len(checks), **recorded)


def recorded_audit(path: Path | None) -> str:
    """Say what a recorded audit found; a file that cannot be read is no reason to show nothing else."""
    if path is None:
        return NOT_RUN
    try:
        return str(read_audit(path))
    except InvalidInput as refusal:
        return f"not known: {refusal}"


@dataclass(frozen=True)
class SignOff:
    """Everything that the template of the page writes."""

    name: str
    title: str
    covered: str
    more: str
    simulated: bool
    bars: Picture
    flow: Picture
    promises: tuple[Promise, ...]
    retention: tuple[tuple[str, str, str], ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    digests: tuple[tuple[str, str], ...]
    audit: str
    not_covered: str


def sign_off(answer: Answer, digests: Sequence[tuple[str, str]] = (), audit: str = NOT_RUN) -> SignOff:
    """Return what is signed of an answer; `digests` are those that only the server knows, such as its key."""
    shown = replace(answer, items=answer.items[:MAX_BARS])
    left_out = len(answer.items) - len(shown.items)
    task = [] if answer.task is None else [("Signed task", answer.task)]
    return SignOff(
        name=answer.name or ("Simulated answer" if answer.mode == SIMULATION else "Answer"),
        title=answer.title,
        covered=coverage(answer),
        more=f"{left_out:,} more items are in the exports." if left_out else "",
        simulated=answer.mode == SIMULATION,
        bars=chart(shown),
        flow=flow_of(answer),
        promises=promises(answer),
        retention=SIMULATED if answer.mode == SIMULATION else RETENTION,
        missing=tuple(f"{each.name}: {each.reason}" for each in answer.missing),
        notes=tuple(note.text for note in answer.notes),
        versions=(("Treetop", treetop.__version__), ("Form of the answer", str(SCHEMA))),
        digests=(*task, ("This answer (SHA-256 of its JSON)", sha256(json_of(answer)).hexdigest()), *digests),
        audit=audit,
        not_covered=answer.privacy.not_covered,
    )
