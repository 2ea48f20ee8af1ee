"""`treetop audit`: does this installation keep its privacy promise?"""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

from treetop.answers.result_files import checked_output
from treetop.audit.checks import NOT_SEEN, AuditReport
from treetop.audit.documents import ENDINGS, Circumstances, write_document
from treetop.audit.run import parts, run_audit
from treetop.cli.options import completing
from treetop.cli.output import write_or_rescue
from treetop.cli.screen import Description, Json, err, note, out, print_json
from treetop.mechanisms.registry import MECHANISMS
from treetop.oracles.registry import ORACLES


def audit(
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes and samples: about a minute.")] = False,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help="Audit this mechanism alone, or with --oracle both of them.",
            show_default="all",
            autocompletion=completing(list(MECHANISMS)),
        ),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(
            help="Audit this oracle alone, or with --mechanism both of them.",
            show_default="all",
            autocompletion=completing(list(ORACLES)),
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", metavar="FILE", help="A document to sign, too: .html, .md or .json.", show_default=False
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Check the privacy promise, exactly and by experiment; exit 1 if any claim fails."""
    if output is not None:
        checked_output(output, ENDINGS)
    parts_audited = " and ".join(name for name in (mechanism, oracle) if name) or "every mechanism and oracle"
    found = Circumstances.here(f"{parts_audited}, {'quick' if quick else 'full'} sizes and samples")
    columns = (Description(), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("audit", total=sum(part.seconds for part in parts(quick, mechanism, oracle)))

        def tick(title: str, done: float) -> None:
            progress.update(task, description=title, completed=done)

        report = run_audit(quick, tick, mechanism, oracle)
    if json:
        print_json(report.as_json())
    else:
        _show(report)
    if output is not None:
        write_or_rescue(output, lambda path: write_document(report, found, path))
        note(f"wrote {output}")
    if not report.passed:
        raise typer.Exit(1)


def _show(report: AuditReport) -> None:
    for check in report.checks:
        numbers = f"{check.measured:>10.4g}  (limit {check.limit:.4g})"
        out.print(_verdict("pass", check.passed), f" {check.name:32} {numbers}  {check.claim}", soft_wrap=True)
    out.print("not seen by any of these checks:")
    for limit in NOT_SEEN:
        out.print(f"  - {limit}", soft_wrap=True)
    failed = sum(not check.passed for check in report.checks)
    out.print(_verdict("PASS", report.passed), f" {len(report.checks) - failed} of {len(report.checks)} claims hold")


def _verdict(word: str, passed: bool) -> Text:
    return Text(word, style="green") if passed else Text("FAIL", style="red")
