"""An audit as a document to sign: its date, machine and code, every claim in words, and what it cannot see."""

import json
import platform
import shutil
import subprocess
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from importlib.metadata import version
from pathlib import Path

from treetop.audit.checks import NOT_SEEN, AuditReport, Check
from treetop.extras import DISTRIBUTION
from treetop.public_text import visible
from treetop.whole_files import write_whole

ENDINGS = (".html", ".json", ".md")
PACKAGE = Path(__file__).parents[1]
MEANING = (
    "Epsilon-local differential privacy: whoever sees all that a device ever sends for one task, the organisation "
    "and the server included, learns little more about the person than before. No report is more than e^epsilon times "
    "likelier for one value than for another, whatever else is known."
)
LINES = ("Name", "Role", "Date", "Signature")


@dataclass(frozen=True)
class Circumstances:
    """When an audit began, and which code it checked."""

    date: str
    version: str
    commit: str
    """Of the checkout that the code lies in; "not a checkout" for an installed package."""
    code: str
    """SHA-256 over names and contents of the package's files: the same code has the same, wherever it lies."""
    python: str
    system: str
    extent: str
    """How much was audited."""

    @classmethod
    def here(cls, extent: str) -> "Circumstances":
        """Read them off this machine."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        python = f"{platform.python_implementation()} {platform.python_version()}"
        system = f"{platform.system()} {platform.release()}, {platform.machine()}"
        return cls(now, version(DISTRIBUTION), _commit(), _code_digest(), python, system, extent)


def _code_digest() -> str:
    files = [path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    whole = sha256()
    for path in sorted(files, key=lambda path: path.relative_to(PACKAGE).as_posix()):
        whole.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + sha256(path.read_bytes()).digest())
    return whole.hexdigest()


def _commit() -> str:
    git = shutil.which("git")
    tracked = git and _said(git, "ls-files", "--error-unmatch", "errors.py")
    if not git or not tracked:  # some other project's checkout may have this package installed inside it
        return "not a checkout"
    changed = _said(git, "status", "--porcelain", "--", ".")
    return (_said(git, "rev-parse", "HEAD") or "none yet") + (", with changes" if changed else "")


def _said(git: str, *words: str) -> str:
    done = subprocess.run([git, *words], cwd=PACKAGE, capture_output=True, text=True, check=False)  # noqa: S603  git
    return done.stdout.strip() if done.returncode == 0 else ""


def write_document(report: AuditReport, found: Circumstances, path: Path) -> None:
    """Write the audit as the ending says, whole or not at all."""
    written = {".json": _json, ".md": _markdown, ".html": _page}[path.suffix.lower()]
    write_whole(path, written(report, found).encode("utf-8"))


def _json(report: AuditReport, found: Circumstances) -> str:
    return json.dumps({**asdict(found), **report.as_json()}, indent=2) + "\n"


def _headline(report: AuditReport) -> str:
    failed = [check.name for check in report.checks if not check.passed]
    if not report.checks:
        return "Nothing was checked."
    if failed:
        return f"FAILED: {len(failed)} of {len(report.checks)} claims do not hold: {', '.join(failed)}. Do not deploy."
    return f"Passed: all {len(report.checks)} claims hold."


def _facts(found: Circumstances) -> list[tuple[str, str]]:
    names = {
        "date": "Begun",
        "version": "Version of Treetop",
        "commit": "Commit",
        "code": "Digest of the code",
        "python": "Python",
        "system": "System",
        "extent": "Extent",
    }
    return [(names[name], visible(text)) for name, text in asdict(found).items()]


def _row(check: Check) -> tuple[str, str, str, str, str]:
    verdict = "pass" if check.passed else "FAIL"
    return verdict, check.name, check.claim, f"{check.measured:.4g}", f"{check.limit:.4g}"


COLUMNS = ("verdict", "check", "claim", "measured", "limit")


def _markdown(report: AuditReport, found: Circumstances) -> str:
    def line(cells: tuple[str, ...]) -> str:
        return "| " + " | ".join(visible(cell).replace("|", "\\|") for cell in cells) + " |"

    return "\n".join(
        [
            "# Audit of the privacy promise",
            "",
            f"**{_headline(report)}**",
            "",
            MEANING,
            "",
            line(("", "")),
            "|---|---|",
            *map(line, _facts(found)),
            "",
            "## Claims",
            "",
            line(COLUMNS),
            "|---|---|---|---|---|",
            *(line(_row(check)) for check in report.checks),
            "",
            "## What no check here can tell",
            "",
            *(f"- {limit}" for limit in NOT_SEEN),
            "",
            "## Signed",
            "",
            line(LINES),
            "|---|---|---|---|",
            line(("",) * 4),
            "",
        ]
    )


STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 1rem 0; }
th, td { border-bottom: 1px solid color-mix(in srgb, currentColor 25%, transparent); padding: .3rem .6rem .3rem 0;
  text-align: left; vertical-align: top; overflow-wrap: break-word; }
th { white-space: nowrap; }
td:nth-child(2) { overflow-wrap: anywhere; }
.claims td:nth-child(2) { font: .72rem/2.1 ui-monospace, monospace; white-space: nowrap; }
.headline { font-size: 1.25rem; font-weight: 600; border-left: .4rem solid #2a7d46; padding-left: .8rem; }
.failed { border-color: #b3261e; }
.claims .number, .claims th:nth-child(n+4) { padding-left: .8rem; text-align: right; }
.number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.lines td { height: 3rem; width: 25%; }
@media (max-width: 40rem) {
  .claims thead { display: none; }
  .claims tr { display: block; border-bottom: 1px solid; padding: .5rem 0; }
  .claims td, .claims .number { display: block; border: 0; padding: 0; text-align: left; }
  .claims td:nth-child(2) { white-space: normal; }
  .claims td::before { content: attr(data-name) ": "; opacity: .7; }
}
@media print { body { margin: 0; font-size: 11px; } tr { break-inside: avoid; } }
"""


def _page(report: AuditReport, found: Circumstances) -> str:
    def cells(texts: tuple[str, ...]) -> str:
        classes = ("", "", "", ' class="number"', ' class="number"')
        return "".join(
            f'<td{kind} data-name="{name}">{escape(visible(text))}</td>'
            for name, kind, text in zip(COLUMNS, classes, texts, strict=True)
        )

    facts = "\n".join(f"<tr><th scope=row>{name}</th><td>{escape(text)}</td></tr>" for name, text in _facts(found))
    claims = "\n".join(f"<tr>{cells(_row(check))}</tr>" for check in report.checks)
    limits = "\n".join(f"<li>{escape(limit)}</li>" for limit in NOT_SEEN)
    heads = "".join(f"<th scope=col>{name}</th>" for name in COLUMNS)
    signed = "".join(f"<th scope=col>{name}</th>" for name in LINES)
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Audit of the privacy promise</title><style>{STYLE}</style></head><body>
<h1>Audit of the privacy promise</h1>
<p class="headline{"" if report.passed else " failed"}">{escape(_headline(report))}</p>
<p>{MEANING}</p>
<table>{facts}</table>
<h2>Claims</h2>
<table class="claims"><thead><tr>{heads}</tr></thead><tbody>
{claims}
</tbody></table>
<h2>What no check here can tell</h2>
<ul>{limits}</ul>
<h2>Signed</h2>
<table class="lines"><thead><tr>{signed}</tr></thead><tbody><tr>{"<td></td>" * 4}</tr></tbody></table>
</body></html>
"""
