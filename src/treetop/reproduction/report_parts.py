"""What both written forms of a report say: its sections, and its sentences about the paper's claims and numbers."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from treetop.reproduction.run import QUICK_REPEATS, Reproduction
from treetop.reproduction.specification import Specification, printed
from treetop.reproduction.tables import ReportTable
from treetop.reproduction.verdicts import AGAINST, FAILS, FOR, HOLDS, OPEN, UNCHECKED, ClaimVerdict, mean_difference


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


def grounds(verdict: ClaimVerdict) -> str:
    """Say in a few words on what a verdict rests."""
    if verdict.claim.unchecked:
        return verdict.claim.unchecked
    parts = []
    if any(each.counted for each in verdict.comparisons):
        parts.append(_sides(verdict, counted=True))
    if any(not each.counted for each in verdict.comparisons):
        parts.append(f"on the substitute: {_sides(verdict, counted=False)}")
    if verdict.missing:
        parts.append(f"without {', '.join(verdict.missing)}, which is missing")
    return "; ".join(parts) or "no data, or one run alone"


def _sides(verdict: ClaimVerdict, *, counted: bool) -> str:
    sides = verdict.sides(counted)
    mean, stderr = mean_difference([each for each in verdict.comparisons if each.counted == counted])
    counts = ", ".join(f"{sides[side]} {side}" for side in (FOR, OPEN, AGAINST))
    return f"{counts}; mean difference {difference(mean, stderr, verdict.claim.metric)}"


def difference(mean: float, stderr: float, metric: str) -> str:
    """Write a mean difference with its sign, unit and standard error."""
    scale, digits, unit = {"uplink_bits": (1000, 1, " kbit"), "seconds": (1, 3, " s")}.get(metric, (1, 3, ""))
    return f"{mean / scale:+,.{digits}f} ± {stderr / scale:,.{digits}f}{unit}"


def printed_agreement(reproduction: Reproduction, tolerance: float = 0.05) -> tuple[int, int]:
    """Return how many F1 and recall values that the paper prints we meet within a tolerance, and how many there are.

    Substitutes are left out, and so are rows with a known erratum.
    """
    near = total = 0
    for ours, theirs in _printed_pairs(reproduction):
        total += 1
        near += abs(ours - theirs) <= tolerance
    return near, total


def _printed_pairs(reproduction: Reproduction) -> Iterator[tuple[float, float]]:
    """Yield our mean and the printed value wherever both are known."""
    for specification in reproduction.specifications:
        lookup, metrics = reproduction.measurements.lookup(specification), {*specification.metrics}
        for point in specification.points():
            if reproduction.provenances[point.federation].substitute:
                continue
            for metric in metrics & {"f1", "local_recall"}:
                row = printed(specification.paper, metric, point)
                for label, value in row.values.items():
                    ours = lookup(point, label, metric)
                    if ours is not None and not isinstance(value, str) and not row.remark:
                        yield ours.mean, value
