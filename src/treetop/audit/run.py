"""The whole audit, part by part."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from treetop.audit.audit_report import AuditReport, Check
from treetop.audit.device_conduct import conduct_checks
from treetop.audit.device_laws import device_law_check
from treetop.audit.empirical_epsilon import device_check, vectorised_checks
from treetop.audit.longitudinal import longitudinal_check
from treetop.audit.oracle_laws import oracle_checks
from treetop.audit.transcripts import end_to_end_checks
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import ORACLES
from treetop.privacy.budget import Budget

Tick = Callable[[str, float], None]


@dataclass(frozen=True)
class Part:
    """Some checks that run together, and how long they take beside the others."""

    title: str
    seconds: float
    run: Callable[[], Iterable[Check]]


def parts(quick: bool) -> list[Part]:
    """Return what an audit runs, the proofs first."""
    return [
        *(_exact(oracle, quick) for oracle in ORACLES.values()),
        Part("exact device", 1, lambda: [device_law_check()]),
        Part("end to end", 1 if quick else 4, lambda: end_to_end_checks(quick)),
        Part("conduct", 1 if quick else 3, lambda: conduct_checks(quick)),
        *(_empirical(oracle, 30_000 if quick else 500_000) for oracle in ORACLES.values()),
        *(_vectorised(Budget(text), 1_000_000 if quick else 10_000_000) for text in ("1", "2", "4")),
        *(_longitudinal(number, 1_500 if quick else 10_000) for number in ((1, 2, 5, 10) if quick else range(1, 11))),
    ]


def _exact(oracle: Oracle, quick: bool) -> Part:
    seconds = sum(oracle.audited_sizes(quick)) / 8_000 if oracle.listed else 2 if quick else 10
    return Part(f"exact {oracle}", seconds, lambda: oracle_checks(oracle, quick))


def _empirical(oracle: Oracle, trials: int) -> Part:
    return Part(f"empirical {oracle}", trials / 8_000, lambda: [device_check(oracle, Budget("1"), trials)])


def _vectorised(budget: Budget, trials: int) -> Part:
    return Part(f"empirical, epsilon {budget.text}", trials / 5_000_000, lambda: vectorised_checks(budget, trials))


def _longitudinal(number: int, trials: int) -> Part:
    seconds = number * trials / 5_000
    return Part(f"longitudinal, {number} tasks", seconds, lambda: [longitudinal_check(number, trials)])


def run_audit(quick: bool, tick: Tick) -> AuditReport:
    """Run every part; `tick` hears what begins and how many seconds of work lie behind."""
    checks: list[Check] = []
    done = 0.0
    for part in parts(quick):
        tick(part.title, done)
        checks.extend(part.run())
        done += part.seconds
    tick("done", done)
    return AuditReport(checks)
