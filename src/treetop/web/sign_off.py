"""One page that a privacy officer can sign: what was promised, who saw what, who keeps what, and what was checked."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

from markupsafe import Markup

import treetop
from treetop.audit.audit_report import AuditReport
from treetop.errors import InvalidInput
from treetop.query.answer import SCHEMA, SIMULATION, Answer
from treetop.web.answer_view import Promise, chart, coverage, flow_of, promises
from treetop.web.exports import json_of

MAX_BARS = 10
"""Items on the page, so that it stays one; the exports have all of them."""
NOT_RUN = "not run here: `treetop audit --json > audit.json` records one, and the page is told of that file"
RETENTION = (
    ("A device", "its item, and a ledger of queries, costs and its report's bytes", "as long as its owner likes"),
    ("A party", "reports with the serial numbers of their tickets", "until their group closes"),
    ("A party", "the same reports in the order of their bytes, linked to nobody, and which tickets were used",
     "until its operator removes them; nothing is removed by itself"),
    ("The server", "the order, the signed task, the parties' counts and the answer",
     "until its operator removes them; nothing is removed by itself"),
)  # fmt: skip
"""As docs/explanation/report_store.md says."""
SIMULATED = (("This machine", "the file that was given, which the page does not change", "as long as its owner likes"),)


@dataclass(frozen=True)
class AuditRecord:
    """What a recorded `treetop audit --json` said, and when its file was written."""

    verdict: str
    passed: int
    claims: int
    written: datetime
    digest: str

    def __str__(self) -> str:
        return (
            f"{self.verdict}: {self.passed} of {self.claims} claims hold; recorded {self.written:%Y-%m-%d %H:%M} UTC, "
            f"SHA-256 {self.digest[:16]}…"
        )


def read_audit(path: Path) -> AuditRecord:
    """Read a file that `treetop audit --json` wrote, or refuse another one."""
    try:
        content, changed = path.read_bytes(), path.stat().st_mtime
        found: Any = json.loads(content)
        checks = [check["passed"] for check in found["checks"]]
        held = AuditReport(()).as_json().keys() == found.keys() and all(type(passed) is bool for passed in checks)
        agrees = found["verdict"] == ("pass" if all(checks) else "fail")
    except OSError as reason:
        raise InvalidInput(f"{path}: cannot be read: {reason.strerror}") from None
    except (ValueError, TypeError, KeyError):
        held = False
    if not (held and agrees and checks):
        raise InvalidInput(f"{path}: expected what `treetop audit --json` writes, found something else")
    written = datetime.fromtimestamp(changed, UTC)
    return AuditRecord(found["verdict"], sum(checks), len(checks), written, sha256(content).hexdigest())


@dataclass(frozen=True)
class SignOff:
    """Everything that the template of the page writes."""

    name: str
    title: str
    covered: str
    more: str
    simulated: bool
    bars: Markup
    flow: Markup
    promises: tuple[Promise, ...]
    retention: tuple[tuple[str, str, str], ...]
    missing: tuple[str, ...]
    notes: tuple[str, ...]
    versions: tuple[tuple[str, str], ...]
    digests: tuple[tuple[str, str], ...]
    audit: str
    not_covered: str


def sign_off(answer: Answer, digests: Sequence[tuple[str, str]] = (), audit: AuditRecord | None = None) -> SignOff:
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
        notes=answer.notes,
        versions=(("Treetop", treetop.__version__), ("Form of the answer", str(SCHEMA))),
        digests=(*task, ("This answer (SHA-256 of its JSON)", sha256(json_of(answer)).hexdigest()), *digests),
        audit=NOT_RUN if audit is None else str(audit),
        not_covered=answer.privacy.not_covered,
    )
