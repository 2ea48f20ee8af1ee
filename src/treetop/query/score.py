"""One run scored against the ground truth."""

from dataclasses import dataclass

from treetop.metrics.retrieval import f1, local_recall, ncr
from treetop.simulation.population import Population
from treetop.simulation.run import RunResult


@dataclass(frozen=True)
class Score:
    """How good one run was and what it cost."""

    f1: float
    ncr: float
    local_recall: float
    uplink_bits: float
    """Mean per party."""
    seconds: float


def score(outcome: RunResult, population: Population, k: int) -> Score:
    """Compare what a run found with the k most popular items."""
    truth = population.truth.codes[:k].tolist()
    found: list[int] = outcome.ranking.prefixes.tolist()
    if outcome.ranking.texts is not None:  # a hash whose text was not read, or wrongly, counts as another code
        read = [None if text is None else text.text for text in outcome.ranking.texts.tolist()]
        right = population.popular_texts
        found = [code if right.get(code) == text else -1 - code for code, text in zip(found, read, strict=True)]
    local = [top[:k].tolist() for top in outcome.local_tops.values()]
    bits = sum(outcome.uplink_bits.values()) / len(outcome.uplink_bits)
    return Score(f1(found, truth), ncr(found, truth), local_recall(local, truth), bits, outcome.seconds)
