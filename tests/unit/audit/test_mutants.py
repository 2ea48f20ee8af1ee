"""The audit has teeth: every mutant is caught by the check that is meant for it, and the shipped code passes it."""

from functools import cache
from math import inf, log

import pytest
from tests.unit.audit.mutants import MORE_MUTANTS, MUTANTS

from treetop.audit.audit_report import Check

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
    assert 0 < of_mutant("float threshold").measured < 1e-9
