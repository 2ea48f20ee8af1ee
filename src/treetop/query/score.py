"""One run held against the truth."""

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
    found = named_codes(outcome, population)
    local = [top[:k].tolist() for top in outcome.local_tops.values()]
    bits = sum(outcome.uplink_bits.values()) / len(outcome.uplink_bits)
    return Score(f1(found, truth), ncr(found, truth), local_recall(local, truth), bits, outcome.seconds)


def named_codes(outcome: RunResult, population: Population) -> list[int]:
    """Return the codes that a run found; a hash whose text was not read, or wrongly, counts as another code."""
    codes: list[int] = outcome.ranking.prefixes.tolist()
    if outcome.ranking.texts is None:
        return codes
    read = [None if found is None else found.text for found in outcome.ranking.texts.tolist()]
    right = population.popular_texts
    return [code if right.get(code) == text else -1 - code for code, text in zip(codes, read, strict=True)]
