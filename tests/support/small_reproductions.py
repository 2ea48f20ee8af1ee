"""Reproductions of a few tables and figures on small federations."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from treetop.reproduction.run import Reproducer, RunSettings
from treetop.reproduction.specification import Specification, specifications_named

SETTINGS = RunSettings(5, 2, "0", "0")


def small(specification: Specification) -> Specification:
    """Leave out SYN, which is large, and most of the privacy budgets."""
    federations = tuple(name for name in specification.federations if name != "SYN")
    return replace(specification, federations=federations, epsilons=specification.epsilons[:2])


def small_reproducer(names: Sequence[str], data: Path, output: Path, resume: bool = False) -> Reproducer:
    """Return what runs the small form of some tables and figures, twice each."""
    return Reproducer([small(each) for each in specifications_named(names)], data, SETTINGS, output, resume)
