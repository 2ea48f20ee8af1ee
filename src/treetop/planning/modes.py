"""The modes that a plan compares, as stages that an item has to pass."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from treetop.encoding.hashed_text import SHORT_HASH
from treetop.mechanisms.canopy import CanopyParameters, CanopyPlan
from treetop.mechanisms.hashed_names.plan import HashedParameters, HashedPlan, HashedTextParameters
from treetop.mechanisms.known_items import EVERYBODY, ZETA
from treetop.mechanisms.panorama.plan import WORD_SHARE
from treetop.mechanisms.parameters import Parameters
from treetop.metrics.detection_power import Stage, count_error, detection_power, marking_power
from treetop.oracles.registry import listed_oracle
from treetop.trie.global_ranking import COUNT_BITS
from treetop.trie.party_counts import UNARY_BITS
from treetop.trie.user_groups import level_weights

READ_CHUNKS = 5
"""Chunks of the text that a plan assumes: about 38 bits, a word of 8 characters."""
READ_SIGNALS = (0.0, 1.5, 2.3, 3.1, 3.9)
READ_CHANCES = (0.0, 0.0, 0.35, 0.83, 1.0)
"""How often it is read when its true chunks stand that many standard deviations above the others: simulated."""


@dataclass(frozen=True)
class Mode:
    """One way of finding items."""

    name: str
    what: str
    stages: tuple[Stage, ...]
    uplink_bits: int
    chunk: Stage | None = None
    """With texts: one of their chunks."""

    def found(self, users: Sequence[float], frequency: float) -> float:
        """Return the probability that an item of that frequency is found, its text read where that is asked for."""
        return detection_power(self.stages, users, frequency) * self._read(users, frequency)

    def marked(self, users: Sequence[float], frequency: float) -> float:
        """Return the probability that it is also marked as more than noise."""
        return marking_power(self.stages, users, frequency) * self._read(users, frequency)

    def _read(self, users: Sequence[float], frequency: float) -> float:
        if self.chunk is None:
            return 1.0
        signal = frequency * sum(users) / count_error(self.chunk, users, frequency).absent
        return float(np.interp(signal, READ_SIGNALS, READ_CHANCES))


def modes_of(parameters: Parameters, catalogue_size: int) -> tuple[Mode, ...]:
    """Return the modes, the one that needs to know most first."""
    k, epsilon = parameters.k, parameters.epsilon
    canopy = CanopyParameters(k, epsilon)
    return (
        _catalogue(parameters, catalogue_size),
        _canopy(canopy, shared=True),
        _canopy(canopy, shared=False),
        _hashed(HashedParameters(k, epsilon, bits=SHORT_HASH)),
        _hashed(HashedTextParameters(k, epsilon, bits=SHORT_HASH)),
    )


def _catalogue(parameters: Parameters, size: int) -> Mode:
    oracle = listed_oracle(parameters.oracle, parameters.epsilon, size)
    stage = Stage(oracle, EVERYBODY, size, parameters.k, ZETA, ahead=parameters.k - 1)
    bits = round(UNARY_BITS[False] * size) + COUNT_BITS * (parameters.k + 2)
    what = f"{size:,} known items" + (", all listed" if size == parameters.k else "")
    return Mode("catalogue", what, (stage,), bits)


def _canopy(parameters: CanopyParameters, *, shared: bool) -> Mode:
    """Take a 48-bit code; an item whose beginnings others share is decided at the last level alone."""
    plan = CanopyPlan.of(parameters)
    weights = level_weights(plan.L, "adaptive", 0.0 if shared else 1.0)
    stages = _stages(parameters, plan, weights)
    name, what = ("canopy", "shared prefixes") if shared else ("canopy, alone", "no shared prefix")
    what = f"{parameters.bits}-bit code, {what}"
    return Mode(name, what, stages[-1:] if shared else stages, plan.expected_bits(parameters.k))


def _hashed(parameters: HashedParameters) -> Mode:
    plan = HashedPlan.of(parameters)
    stages = _stages(parameters, plan.search, list(plan.weights), plan.asked)
    name, what, chunk = "hashed", "word list", None
    if isinstance(parameters, HashedTextParameters):
        name, what = "hashed, texts", "text recovered"
        chunk = replace(stages[-1], share=(parameters.text_share or WORD_SHARE) / READ_CHUNKS)
    return Mode(name, f"{parameters.bits}-bit hash, {what}", stages, plan.expected_bits(parameters.k), chunk)


def _stages(parameters: Parameters, plan: CanopyPlan, weights: list[float], last: int = 0) -> tuple[Stage, ...]:
    sizes = plan.max_candidates
    going_on = [min(plan.kept, size) for size in sizes[:-1]] + [last or parameters.k]
    return tuple(
        Stage(parameters.oracle_for(size), weight / sum(weights), size, kept, plan.zeta, ahead=parameters.k - 1)
        for size, kept, weight in zip(sizes, going_on, weights, strict=False)
    )
