"""`treetop audit`: does this installation keep its privacy promise?"""

from typing import Annotated

import typer
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from treetop.audit.audit_report import AuditReport, Check
from treetop.audit.run import parts, run_audit
from treetop.cli.options import Json
from treetop.cli.screen import err, out, print_json


def audit(
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes and samples: about a minute.")] = False,
    json: Json = False,
) -> None:
    """Check the privacy promise, exactly and by experiment; exit 1 if any claim fails."""
    report = _audited_with_progress(quick)
    if json:
        print_json(report.as_json())
    else:
        _show(report)
    if not report.passed:
        raise typer.Exit(1)


def _audited_with_progress(quick: bool) -> AuditReport:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task("audit", total=sum(part.seconds for part in parts(quick)))
        return run_audit(quick, lambda title, done: progress.update(task, description=title, completed=done))


def _show(report: AuditReport) -> None:
    for check in report.checks:
        out.print(_line(check), soft_wrap=True)
    failed = sum(not check.passed for check in report.checks)
    verdict = "[green]PASS[/]" if report.passed else "[red]FAIL[/]"
    out.print(f"{verdict}  {len(report.checks) - failed} of {len(report.checks)} claims hold")


def _line(check: Check) -> str:
    verdict = "[green]pass[/]" if check.passed else "[red]FAIL[/]"
    return f"{verdict}  {check.name:26} {check.measured:>10.4g}  (limit {check.limit:.4g})  {check.claim}"
