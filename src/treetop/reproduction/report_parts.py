"""What the two written forms of a report have in common."""

from collections.abc import Mapping
from dataclasses import dataclass

from treetop.reproduction.run import QUICK_REPEATS, Reproduction
from treetop.reproduction.specification import Specification
from treetop.reproduction.tables import ReportTable, printed_agreement
from treetop.reproduction.verdicts import FAILS, HOLDS, UNCHECKED


@dataclass(frozen=True)
class ReportHead:
    """How the report came about, and what it found in one line."""

    command: str
    versions: Mapping[str, str]
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Section:
    """One table or figure of the paper, ready to be written."""

    specification: Specification
    tables: tuple[ReportTable, ...]
    picture: str
    """An address that holds the whole picture, or nothing."""


def result_line(head: ReportHead) -> str:
    """Say how many claims hold."""
    total = sum(head.counts.values())
    parts = [f"{head.counts.get(name, 0)} {'hold' if name == HOLDS else 'do not hold' if name == FAILS else name}"
             for name in (HOLDS, FAILS, UNCHECKED)]  # fmt: skip
    return f"Of {total} claims of the paper {parts[0]}, {parts[1]} and {parts[2]}."


def agreement_line(reproduction: Reproduction) -> str:
    """Say how near the printed numbers are."""
    near, total = printed_agreement(reproduction)
    return (
        f"{near} of the {total} F1 and recall values that the paper prints are met within 0.05; substitutes and rows "
        "with a known erratum are not counted."
    )


def caution(reproduction: Reproduction) -> str:
    """Return a warning where the repetitions are few."""
    if reproduction.settings.repeats > QUICK_REPEATS:
        return ""
    return (
        f"Only {reproduction.settings.repeats} repetitions: standard errors are themselves uncertain, and the verdicts "
        "are provisional."
    )
