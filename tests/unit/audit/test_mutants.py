"""The audit has teeth: every mutant is caught by the check that is meant for it, and the shipped code passes it."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import exp, inf, log

import pytest
from tests.support.fixed_entropy import FixedEntropy
from tests.unit.audit.mutants import MORE_MUTANTS, MUTANTS, DummyUncounted

from treetop.audit import empirical_epsilon, set_laws
from treetop.audit.checks import Check
from treetop.audit.empirical_epsilon import device_check
from treetop.audit.set_laws import EMPIRICAL_ITEMS, FORMS, empirical_set_check, held, visible_set_excess
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import LedgerEntry
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import Question
from treetop.oracles.hashed_reports import HashedFace
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.protocol import DeviceFace, Oracle
from treetop.oracles.set_reports import SetFace, SetOracle
from treetop.privacy.budget import Budget

ALL = {**MUTANTS, **MORE_MUTANTS}


@cache
def of_mutant(name: str) -> Check:
    return ALL[name].check()


@cache
def of_shipped_code(check: str) -> Check:
    return next(mutant.honest() for mutant in ALL.values() if mutant.caught_by == check)


def test_there_are_twelve_mutants() -> None:
    assert len(MUTANTS) == 12


@pytest.mark.parametrize("name", ALL)
def test_a_mutant_is_caught_by_its_check(name: str) -> None:
    check = of_mutant(name)
    assert check.name == ALL[name].caught_by
    assert not check.passed
    assert check.measured > check.limit


@pytest.mark.parametrize("name", ALL)
def test_the_shipped_code_passes_the_same_check(name: str) -> None:
    check = of_shipped_code(ALL[name].caught_by)
    assert check.name == ALL[name].caught_by
    assert check.passed


def test_the_excess_is_what_theory_says() -> None:
    assert of_mutant("silent when outside").measured == inf
    assert of_mutant("private domain").measured == inf
    assert of_mutant("two reports").measured == pytest.approx(1, abs=1e-9)
    assert of_mutant("overlapping validation sets").measured == pytest.approx(1, abs=1e-9)
    assert of_mutant("value-dependent level").measured == pytest.approx(log(9), abs=1e-9)
    assert of_mutant("two reports to canopy").measured == pytest.approx(1, abs=1e-9)
    assert of_mutant("several levels of canopy").measured == pytest.approx(3, abs=1e-9)  # four instead of one
    # whoever joins none of the four levels shows nine to one four times, and reports nothing
    assert of_mutant("value-dependent share of canopy").measured == pytest.approx(4 * log(9) - 1, abs=1e-9)
    assert 0 < of_mutant("float threshold").measured < 1e-9
    assert of_mutant("undeclared threshold").measured == inf
    assert of_mutant("true bit too often").measured == pytest.approx(log(3), abs=1e-9)
    assert of_mutant("one word for all bits").measured == inf
    assert of_mutant("seed from the value").measured == inf


class TwiceTheBudget(Device):
    """A device that answers with an epsilon of 2 where 1 was agreed."""

    def _settle_slot(self, task: DeviceTask, entry: LedgerEntry, question: Question) -> bytes:
        return super()._settle_slot(replace(task, budget=Budget("2")), entry, question)

    def _settle(self, task: DeviceTask, entry: LedgerEntry, oracle: Oracle, face: DeviceFace, report: object) -> bytes:
        return super()._settle(replace(task, budget=Budget("1")), entry, oracle, face, report)


def test_the_empirical_audit_sees_a_large_excess(monkeypatch: pytest.MonkeyPatch) -> None:
    """P10: from outside, without a look at the code."""
    monkeypatch.setattr(empirical_epsilon, "SystemEntropy", lambda: FixedEntropy(1))
    check = device_check(KRandomizedResponse(), Budget("1"), 3_000, TwiceTheBudget)
    assert not check.passed
    assert check.measured > 1.5


@pytest.mark.parametrize("form", FORMS)
def test_the_empirical_audit_of_sets_sees_the_excess_that_it_says(
    form: type[SetOracle], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device that spends as much more as would be seen with 99.9 % power is seen; one as shipped passes."""
    monkeypatch.setattr(set_laws, "SystemEntropy", lambda: FixedEntropy(3))
    trials, budget = 5_000, Budget("1")
    sets = held(*range(EMPIRICAL_ITEMS)), held(*range(EMPIRICAL_ITEMS, 2 * EMPIRICAL_ITEMS))
    excess = visible_set_excess(form, budget, sets, trials)

    def louder(oracle: SetOracle, budget: Budget) -> SetFace:
        odds = budget.odds_below * Fraction(exp(excess))
        single = oracle.device_face(odds, oracle.slots_for(budget.odds_below))
        assert isinstance(single, HashedFace)
        return SetFace(single, oracle.items)

    shipped, loud = empirical_set_check(form, trials), empirical_set_check(form, trials, louder)
    assert shipped.passed
    assert f"an excess of {excess:.3f} would be seen" in shipped.claim
    assert not loud.passed


def test_the_empirical_audit_sees_an_uncounted_dummy(monkeypatch: pytest.MonkeyPatch) -> None:
    """An excess of ln(4 / 3) at d = 5, which 15,000 reports of each value show with 99.9 % power."""
    monkeypatch.setattr(empirical_epsilon, "SystemEntropy", lambda: FixedEntropy(2))
    monkeypatch.setattr(KRandomizedResponse, "device_face", DummyUncounted)
    assert not device_check(KRandomizedResponse(), Budget("1"), 15_000).passed
