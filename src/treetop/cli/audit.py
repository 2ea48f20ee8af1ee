"""`treetop audit`: does this installation keep its privacy promise?"""

import json as json_text
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from treetop.audit.audit_report import AuditReport, Check
from treetop.audit.run import parts, run_audit


def audit(
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes and samples: about a minute.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> None:
    """Check the privacy promise, exactly and by experiment; exit 1 if any claim fails."""
    report = _audited_with_progress(quick)
    if json:
        typer.echo(json_text.dumps(report.as_json(), indent=2))
    else:
        _show(report)
    if not report.passed:
        raise typer.Exit(1)


def _audited_with_progress(quick: bool) -> AuditReport:
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("audit", total=sum(part.seconds for part in parts(quick)))
        return run_audit(quick, lambda title, done: progress.update(task, description=title, completed=done))


def _show(report: AuditReport) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for check in report.checks:
        console.print(_line(check))
    failed = sum(not check.passed for check in report.checks)
    verdict = "[green]PASS[/]" if report.passed else "[red]FAIL[/]"
    console.print(f"{verdict}  {len(report.checks) - failed} of {len(report.checks)} claims hold")


def _line(check: Check) -> str:
    verdict = "[green]pass[/]" if check.passed else "[red]FAIL[/]"
    return f"{verdict}  {check.name:26} {check.measured:>10.4g}  (limit {check.limit:.4g})  {check.claim}"
