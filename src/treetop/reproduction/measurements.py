"""What was measured, looked up by point and series."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from treetop.oracles.registry import find_oracle
from treetop.privacy.epsilon import Epsilon
from treetop.query.score import Score
from treetop.reproduction.federation_variants import FederationFacts
from treetop.reproduction.specification import Planned, Point, Specification, Variant
from treetop.reproduction.verdicts import Lookup, Measured

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
