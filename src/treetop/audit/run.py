"""The whole audit, part by part: proofs by enumeration first, then the shipped programs, then measurements."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from treetop.audit.campaign_cycles import campaign_checks
from treetop.audit.central_guarantee import hostile_beacon_checks, shuffled_check
from treetop.audit.checks import AuditReport, Check
from treetop.audit.empirical_epsilon import device_check, longitudinal_check, vectorised_checks
from treetop.audit.oracle_laws import long_list_checks, oracle_checks
from treetop.audit.set_laws import set_checks
from treetop.audit.shipped.campaign_checks import campaign_device_checks
from treetop.audit.shipped.device_checks import device_checks
from treetop.audit.shipped.fleet_checks import fleet_checks
from treetop.audit.transcripts import end_to_end_checks
from treetop.audit.vectorised_laws import perturb_check
from treetop.audit.whole_device import conduct_checks, device_law_check, oracle_conduct_checks
from treetop.errors import UnknownName
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import FOR_A_QUERY, MECHANISMS
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import LISTED, ORACLES, find_oracle
from treetop.privacy.budget import Budget

Tick = Callable[[str, float], None]


@dataclass(frozen=True)
class Part:
    """Checks that run together, and how long they take in seconds: weights of the progress bar."""

    title: str
    seconds: float
    run: Callable[[], Iterable[Check]]


def audited_mechanisms() -> dict[str, Mechanism[Any]]:
    """Return the registered mechanisms; Panorama with a list, and over a catalogue, as `find` makes it."""
    return {**MECHANISMS, **FOR_A_QUERY}


def parts(quick: bool, mechanism: str | Mechanism[Any] | None = None, oracle: str | Oracle | None = None) -> list[Part]:
    """Return what an audit runs, the proofs first: all of it, or what concerns one mechanism, one oracle, or both.

    A task names its oracle, so devices are audited with registered oracles only.
    """
    everything = mechanism is None and oracle is None
    known = audited_mechanisms()
    mechanisms = known if everything else {}
    if isinstance(mechanism, str):
        if mechanism not in known:
            raise UnknownName("mechanism", mechanism, known)
        mechanisms = {mechanism: known[mechanism]}
    elif mechanism is not None:
        mechanisms = {mechanism.name: mechanism}
    oracles = [] if oracle is None else [find_oracle(oracle)]
    if everything:
        oracles = list(ORACLES.values())
    deployable = [each for each in oracles if ORACLES.get(each.name) == each]
    found = [_exact(each, quick) for each in oracles]
    if everything:
        found.append(Part("sets", 5 if quick else 90, lambda: set_checks(quick)))
        found.append(Part("exact device", 1, lambda: [device_law_check()]))
        found.append(Part("campaigns", 6 if quick else 90, lambda: campaign_checks(quick)))
        found.append(Part("hostile beacons", 2 if quick else 8, lambda: hostile_beacon_checks(quick)))
    found += [_end_to_end(name, each, quick) for name, each in mechanisms.items()]
    if deployable:
        found.append(Part("conduct by oracle", 1 if quick else 3, lambda: oracle_conduct_checks(deployable, quick)))
        rules = [each.name for each in deployable] + [LISTED] * everything
        found.append(Part("shipped device", 5 if quick else 15, lambda: device_checks(rules, quick)))
        campaign_seeds = 1 if quick else 5
        found.append(Part("campaigns of a device", 2, lambda: campaign_device_checks(rules, campaign_seeds)))
        found.append(Part("shipped fleet", 1 if quick else 4, lambda: fleet_checks(rules, quick)))
    if everything:
        found.append(Part("conduct", 1, lambda: conduct_checks(quick)))
        found.append(Part("perturb", 1, lambda: [perturb_check()]))
    found += [_empirical(each, 30_000 if quick else 500_000) for each in deployable]
    if everything:
        found += [_vectorised(Budget(text), 1_000_000 if quick else 10_000_000) for text in ("1", "2", "4")]
        tasks = (1, 2, 5, 10) if quick else range(1, 11)
        found += [_longitudinal(number, 1_500 if quick else 10_000) for number in tasks]
    return found


# Functions, not lambdas in the comprehensions above: those would all see the last mechanism, oracle or budget.
def _end_to_end(name: str, mechanism: Mechanism[Any], quick: bool) -> Part:
    return Part(f"end to end {name}", 1 if quick else 15, lambda: end_to_end_checks(mechanism, quick, name))


def _exact(oracle: Oracle, quick: bool) -> Part:
    seconds = sum(oracle.audited_sizes(quick)) / 8_000 if oracle.listed else 2 if quick else 10
    return Part(
        f"exact {oracle}",
        seconds,
        lambda: [*oracle_checks(oracle, quick), *long_list_checks(oracle, quick), shuffled_check(oracle, quick)],
    )


def _empirical(oracle: Oracle, trials: int) -> Part:
    return Part(f"empirical {oracle}", trials / 8_000, lambda: [device_check(oracle, Budget("1"), trials)])


def _vectorised(budget: Budget, trials: int) -> Part:
    return Part(f"empirical, epsilon {budget.text}", trials / 5_000_000, lambda: vectorised_checks(budget, trials))


def _longitudinal(number: int, trials: int) -> Part:
    seconds = number * trials / 5_000
    return Part(f"longitudinal, {number} tasks", seconds, lambda: [longitudinal_check(number, trials)])


def run_audit(
    quick: bool = False,
    tick: Tick = lambda title, done: None,  # noqa: ARG005
    mechanism: str | Mechanism[Any] | None = None,
    oracle: str | Oracle | None = None,
) -> AuditReport:
    """Run every part, or those of one mechanism, one oracle, or both, each a name or an object.

    `tick` is called with the part that begins and the seconds of work that are done.
    """
    checks: list[Check] = []
    done = 0.0
    for part in parts(quick, mechanism, oracle):
        tick(part.title, done)
        checks.extend(part.run())
        done += part.seconds
    tick("done", done)
    return AuditReport(checks)
