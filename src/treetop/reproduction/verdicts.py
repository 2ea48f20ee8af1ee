"""What was measured, and whether a claim of the paper holds, by one rule for all claims."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple

import numpy as np

from treetop.oracles.registry import find_oracle
from treetop.privacy.epsilon import Epsilon
from treetop.query.find import Score
from treetop.reproduction.federation_variants import FederationFacts
from treetop.reproduction.specification import Claim, Planned, Point, Specification, Variant

HOLDS = "holds"
FAILS = "does not hold"
UNCHECKED = "cannot be checked"
FOR = "for"
OPEN = "open"
AGAINST = "against"
CLEAR = 3.0
"""Standard errors of a difference that counts; chance alone reaches them once in 700 comparisons."""
NEGLIGIBLE = 0.02
"""A mean advantage that is clearly smaller than this counts as none."""

RULE = (
    "Every claim is split into comparisons, one for each federation, privacy budget, k and case that it speaks of; "
    "a claim to be better than several others is compared with the best of them there. A comparison is for the claim "
    f"if the difference has the claimed sign and is larger than {CLEAR:g} standard errors of the difference, against "
    "it if it has the opposite sign and is that large, and open otherwise. The claim does not hold if one comparison "
    f"is against it, if the mean of all differences is against it by more than {CLEAR:g} standard errors, or if that "
    f"mean plus {CLEAR:g} standard errors stays below {NEGLIGIBLE:g}, so that an advantage worth the name can be ruled "
    f"out. It holds if no comparison is against it and the mean difference is for it by more than {CLEAR:g} standard "
    "errors. It cannot be checked if noise leaves the mean difference open, if the data are missing or only a "
    "substitute for the paper's data is there, or if cells were run once only and have no standard error. Comparisons "
    "on substitutes are shown, and are left out of the verdict."
)


MEANINGS = {
    HOLDS: "no comparison is clearly against the claim, and the average is clearly for it",
    FAILS: "a comparison or the average is clearly against the claim, or an advantage worth the name can be ruled out",
    UNCHECKED: "noise leaves it open, the data are missing, or only a substitute for them is there",
}
SIDE_MEANINGS = {
    FOR: f"the difference has the claimed sign and exceeds {CLEAR:g} of its standard errors",
    OPEN: f"the difference is within {CLEAR:g} standard errors of zero: chance could explain it",
    AGAINST: f"the difference has the opposite sign and exceeds {CLEAR:g} standard errors",
}


class Measured(NamedTuple):
    """A mean and its standard error; None where one run alone was made."""

    mean: float
    stderr: float | None


@dataclass(frozen=True)
class Comparison:
    """One difference that speaks for a claim, against it, or neither."""

    point: Point
    label: str
    difference: float
    stderr: float
    counted: bool
    """False on a substitute for the paper's data."""

    @property
    def side(self) -> str:
        """Return whether the difference is for the claim, against it, or too small to tell."""
        if abs(self.difference) <= CLEAR * self.stderr or self.difference == 0:
            return OPEN
        return FOR if self.difference > 0 else AGAINST


@dataclass(frozen=True)
class ClaimVerdict:
    """A claim, its verdict, and the grounds of that."""

    specification: str
    claim: Claim
    verdict: str
    comparisons: tuple[Comparison, ...]
    missing: tuple[str, ...]
    """Federations whose data were not found."""

    def sides(self, counted: bool = True) -> Counter[str]:
        """Count the comparisons of each side, on the paper's data or on substitutes."""
        return Counter(each.side for each in self.comparisons if each.counted == counted)


Lookup = Callable[[Point, str, str], Measured | None]
"""What was measured at a point for the series of a label in a metric, or None where nothing was."""


@dataclass(frozen=True)
class Evidence:
    """Measurements that the rule applies to, and how far each federation is the paper's."""

    lookup: Lookup
    substitutes: frozenset[str]
    missing: frozenset[str]


def judge(specification: Specification, claim: Claim, evidence: Evidence) -> ClaimVerdict:
    """Decide one claim."""
    comparisons: tuple[Comparison, ...] = ()
    if not claim.unchecked:
        comparisons = tuple(RULE_MAKERS[claim.rule](specification, claim, evidence))
    named = claim.federations or specification.federations
    missing = tuple(name for name in named if name in evidence.missing)
    return ClaimVerdict(specification.name, claim, decide(comparisons), comparisons, missing)


def decide(comparisons: Iterable[Comparison]) -> str:
    """Apply the rule to comparisons."""
    counted = [comparison for comparison in comparisons if comparison.counted]
    if not counted:
        return UNCHECKED
    mean, stderr = mean_difference(counted)
    if any(each.side == AGAINST for each in counted):
        return FAILS
    if mean > CLEAR * stderr:
        return HOLDS
    return FAILS if mean < -CLEAR * stderr or mean + CLEAR * stderr < NEGLIGIBLE else UNCHECKED


def mean_difference(comparisons: Sequence[Comparison]) -> tuple[float, float]:
    """Return the mean of differences and its standard error; the comparisons are taken as independent."""
    mean = sum(each.difference for each in comparisons) / len(comparisons)
    return mean, sqrt(sum(each.stderr**2 for each in comparisons)) / len(comparisons)


def points_of(specification: Specification, claim: Claim) -> Iterator[Point]:
    """Yield the points that a claim covers."""
    for point in specification.points():
        covered = (
            (not claim.federations or point.federation in claim.federations)
            and (not claim.epsilons or point.epsilon in claim.epsilons)
            and (not claim.ks or point.k in claim.ks)
        )
        if covered:
            yield point


def _greater(specification: Specification, claim: Claim, evidence: Evidence) -> Iterator[Comparison]:
    """Compare one series with the best of others at every point."""
    for point in points_of(specification, claim):
        if claim.case and point.case != claim.case:
            continue
        first = _look(evidence, point, claim.greater, claim.metric)
        others = [(label, _look(evidence, point, label, claim.than_metric or claim.metric)) for label in claim.than]
        known = [(label, measured) for label, measured in others if measured is not None]
        if first is not None and len(known) == len(others):
            label, best = max(known, key=lambda other: other[1].mean)
            yield _compared(point, label, _difference(first, best, 1 + claim.margin), evidence)


def _look(evidence: Evidence, point: Point, label: str, metric: str) -> Measured | None:
    """Return what was measured, or None if a single run left it without a standard error."""
    found = evidence.lookup(point, label, metric)
    return None if found is None or found.stderr is None else found


def _compared(point: Point, label: str, difference: Measured, evidence: Evidence) -> Comparison:
    counted = point.federation not in evidence.substitutes
    return Comparison(point, label, difference.mean, difference.stderr or 0.0, counted)


def _difference(first: Measured, second: Measured, factor: float = 1.0) -> Measured:
    """Return the first minus a multiple of the second."""
    stderr = sqrt((first.stderr or 0.0) ** 2 + (factor * (second.stderr or 0.0)) ** 2)
    return Measured(first.mean - factor * second.mean, stderr)


def _gain_grows(specification: Specification, claim: Claim, evidence: Evidence) -> Iterator[Comparison]:
    """Compare the gain of one series over another between two cases."""
    for point in points_of(specification, claim):
        if point.case != claim.case:
            continue
        other = Point(point.federation, claim.over, point.epsilon, point.k)
        gains = [_gain(claim, evidence, at) for at in (point, other)]
        if gains[0] is not None and gains[1] is not None:
            yield _compared(point, claim.over, _difference(gains[0], gains[1], 1 + claim.margin), evidence)


def _gain(claim: Claim, evidence: Evidence, point: Point) -> Measured | None:
    first = _look(evidence, point, claim.greater, claim.metric)
    second = _look(evidence, point, claim.than[0], claim.metric)
    return None if first is None or second is None else _difference(first, second)


def _best_differs(specification: Specification, claim: Claim, evidence: Evidence) -> Iterator[Comparison]:
    """Yield one comparison: the farthest point behind the best, of the series that is least far behind there."""
    farthest: list[Comparison] = []
    for label in claim.than:
        behind = [_behind_best(claim, evidence, at, label) for at in points_of(specification, claim)]
        known = [each for each in behind if each is not None and each.counted]
        if known:
            farthest.append(max(known, key=_lead))
    if farthest:
        yield min(farthest, key=_lead)


def _lead(comparison: Comparison) -> float:
    """Return by how much a series is clearly behind the best: the lower end of the difference's interval."""
    return comparison.difference - CLEAR * comparison.stderr


def _behind_best(claim: Claim, evidence: Evidence, point: Point, label: str) -> Comparison | None:
    found = {name: _look(evidence, point, name, claim.metric) for name in claim.than}
    known = {name: measured for name, measured in found.items() if measured is not None}
    if label not in known:
        return None
    best = max(known, key=lambda name: known[name].mean)
    behind = Measured(0.0, 0.0) if best == label else _difference(known[best], known[label])
    return _compared(point, label, behind, evidence)


RULE_MAKERS: dict[str, Callable[[Specification, Claim, Evidence], Iterator[Comparison]]] = {
    "greater": _greater,
    "gain_grows": _gain_grows,
    "best_differs": _best_differs,
}


Scores = Mapping[Planned, Sequence[Score]]


def summary(scores: Sequence[Score], metric: str) -> Measured:
    """Return mean and standard error over repetitions."""
    values = [float(getattr(score, metric)) for score in scores]
    error = float(np.std(values, ddof=1)) / sqrt(len(values)) if len(values) > 1 else None
    return Measured(float(np.mean(values)), error)


@dataclass(frozen=True)
class Measurements:
    """Scores of all cells, and facts of the federations they were run on."""

    scores: Scores
    facts: Mapping[Variant, FederationFacts]

    def lookup(self, specification: Specification) -> Lookup:
        """Return a function that finds what a table or figure shows at a point."""

        def look(point: Point, label: str, metric: str) -> Measured | None:
            if label.lower() in specification.computed:
                return self._computed(specification, point, label.lower(), metric)
            planned = specification.cell_at(point, specification.series_named(label))
            scores = self.scores.get(planned)
            return None if scores is None else summary(scores, metric)

        return look

    def _computed(self, specification: Specification, point: Point, oracle: str, metric: str) -> Measured | None:
        facts = self.facts.get(specification.case_named(point.case).variant(point.federation))
        if facts is None or metric != "uplink_bits":
            return None
        # One report that goes to the server as it is, over all items and without a trie.
        bits = find_oracle(oracle).over(Epsilon(point.epsilon), facts.items).report_bits
        return Measured(facts.users / facts.parties * bits, 0.0)
