"""The pages and files of one answer, simulated or deployed: its exports, and the page that a privacy officer signs.

The page to sign states what was promised, who saw what, who keeps what, and what was checked.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from starlette.responses import Response

import treetop
from treetop.adapters.http.problem_details import Problem
from treetop.answers.answer import SIMULATION, Answer
from treetop.answers.json_form import SCHEMA
from treetop.answers.result_files import without_formulas
from treetop.audit.checks import AuditReport
from treetop.audit.documents import Circumstances
from treetop.errors import InvalidInput
from treetop.extras import MissingExtra, needed_for
from treetop.web.answer_view import Promise, chart, coverage, flow_of, promises
from treetop.web.drawings.svg import Picture, standing_alone
from treetop.web.site import Site, Visit

Digests = Sequence[tuple[str, str]]
PNG_DOTS = 150
"""For each inch."""
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
"""Who keeps what and how long, in short; docs/sign_off/data_and_roles.md has the whole."""
SIMULATED = (("This machine", "the file that was given, which the page does not change", "as long as its owner likes"),)


def add_answers(
    site: Site,
    path: str,
    answer_of: Callable[[Visit], Answer],
    *,
    digests_of: Callable[[Visit], Digests] = lambda _: (),
    audit: Callable[[], str] = lambda: NOT_RUN,
) -> None:
    """Add the page to sign at PATH/answer, and the exports at PATH/answer.json and the like, for a path of the site.

    `answer_of` returns the answer that a visit asks for, or raises a `Problem`.
    """

    def signed(visit: Visit) -> Response:
        page = sign_off(answer_of(visit), digests_of(visit), audit())
        return site.shown(visit, "sign_off.html.jinja", page=page, back=visit.request.url.path.removesuffix("/answer"))

    site.add("GET", f"{path}/answer", signed)
    site.add(
        "GET", f"{path}/answer.{{kind}}", lambda visit: exported(answer_of(visit), visit.request.path_params["kind"])
    )


def exported(answer: Answer, kind: str) -> Response:
    """Return an answer as a file to download; refuse an unknown kind."""
    if kind not in KINDS:
        raise Problem(404, f"an answer is exported as {', '.join(KINDS)}, found {kind}")
    media_type, written = KINDS[kind]
    # A party or an analyst chose the name: only characters that every system accepts go into the header.
    name = re.sub(r"[^a-z0-9]+", "-", (answer.name or "answer").lower()).strip("-")[:60] or "answer"
    headers = {"content-disposition": f'attachment; filename="{name}.{kind}"'}
    return Response(written(answer), headers=headers, media_type=media_type)


def json_of(answer: Answer) -> bytes:
    """Return the file whose digest is on the page to sign, in the same bytes whenever it is exported."""
    return json.dumps(answer.to_json(), indent=2, allow_nan=False).encode("ascii") + b"\n"


def _csv(answer: Answer) -> bytes:
    """Write the items; a text that a spreadsheet would run as a formula gets an apostrophe."""
    sink = BytesIO()
    pa.csv.write_csv(without_formulas(answer.to_arrow()), sink)
    return sink.getvalue()


def _parquet(answer: Answer) -> bytes:
    sink = BytesIO()
    pa.parquet.write_table(answer.to_arrow(), sink)
    return sink.getvalue()


def _svg(answer: Answer) -> bytes:
    return standing_alone(chart(answer))


def _png(answer: Answer) -> bytes:
    try:
        with needed_for("a PNG", "plot"):
            from matplotlib.figure import Figure  # noqa: PLC0415  an extra
    except MissingExtra as missing:
        raise Problem(501, str(missing)) from None
    figure = Figure(figsize=(7, 1.2 + 0.35 * max(len(answer.items), 3)), layout="constrained")
    answer.plot(figure.subplots())
    sink = BytesIO()
    figure.savefig(sink, format="png", dpi=PNG_DOTS)
    return sink.getvalue()


KINDS: Mapping[str, tuple[str, Callable[[Answer], bytes]]] = {
    "json": ("application/json", json_of),
    "csv": ("text/csv", _csv),
    "parquet": ("application/vnd.apache.parquet", _parquet),
    "svg": ("image/svg+xml", _svg),
    "png": ("image/png", _png),
}


@dataclass(frozen=True)
class AuditRecord:
    """The verdict of a recorded audit, when it began, and the code that it audited."""

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
    """Read a file that `treetop audit --output` wrote as JSON; refuse any other."""
    try:
        found: Any = json.loads(path.read_bytes())
    except OSError as reason:
        raise InvalidInput("audit_file_unreadable", path=path, reason=reason.strerror) from None
    except (ValueError, RecursionError):
        found = None
    about = {each.name for each in fields(Circumstances)}
    # A privacy officer signs what is shown: a verdict that its own checks do not support must not reach the page.
    try:
        checks = [check["passed"] for check in found["checks"]]
        holds = found.keys() == about | AuditReport(()).as_json().keys()
        holds = holds and bool(checks) and all(type(passed) is bool for passed in checks)
        holds = holds and found["verdict"] == ("pass" if all(checks) else "fail")
        holds = holds and all(type(found[name]) is str for name in about)
    except (TypeError, KeyError, AttributeError):
        holds = False
    if not holds:
        raise InvalidInput("audit_file_malformed", path=path)
    recorded = {name: found[name] for name in ("verdict", "date", "version", "code", "extent")}
    return AuditRecord(passed=sum(checks), claims=len(checks), **recorded)


def recorded_audit(path: Path | None) -> str:
    """Return a recorded audit in one line; a file that cannot be read is reported there, not refused."""
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
    """Return the page to sign of an answer; `digests` are those that only the server knows, such as its key."""
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
