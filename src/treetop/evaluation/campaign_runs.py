"""One simulated campaign: the same question every week, over items that drift, asked in several ways.

`everybody` answers every week with what she may spend in a cycle, divided by its weeks. In `rotation` she answers in
one week of the cycle, drawn uniformly, and spends all of it there. `seeded` is rotation in which every week counts
again what earlier ones found. All of them see the same weeks, and both rotations ask the same users.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np
from numpy.random import SeedSequence, default_rng

from treetop.datasets.federation import Federation
from treetop.errors import InvalidInput
from treetop.mechanisms.earlier_weeks import EarlierWeeks
from treetop.mechanisms.strategy import Question
from treetop.query.find import score
from treetop.query.preparation import Populations, prepared
from treetop.simulation.run import run
from treetop.simulation.weeks import DRIFT, drawn_slots, moved, weekly_places

EVERYBODY = "everybody"
ROTATION = "rotation"
SEEDED = "seeded"
DESIGNS = (EVERYBODY, ROTATION, SEEDED)
WEEKS = 12
MIN_WEEKS = 2
MAX_WEEKS = 1000
KEY_STREAM, DRIFT_STREAM, SLOT_STREAM, WEEK_STREAM = range(1 << 30, (1 << 30) + 4)
"""Spawn keys of a campaign's randomness."""


@dataclass(frozen=True)
class Calendar:
    """The weeks of a campaign, the cycle in which everybody spends epsilon once, and the items that change a week."""

    weeks: int = WEEKS
    cycle: int = WEEKS
    drift: float = DRIFT

    def __post_init__(self) -> None:
        for what, found in (("weeks", self.weeks), ("a cycle", self.cycle)):
            if not MIN_WEEKS <= found <= MAX_WEEKS:
                raise InvalidInput(
                    "weeks_out_of_range", what=what, min_weeks=MIN_WEEKS, max_weeks=MAX_WEEKS, found=found
                )
        if self.cycle > self.weeks:
            raise InvalidInput("cycle_too_long", weeks=self.weeks, cycle=self.cycle)


@dataclass(frozen=True)
class CampaignRun:
    """What the weeks of one campaign scored, by how it was asked."""

    f1: Mapping[str, Sequence[float]]
    seconds: Mapping[str, float]


def run_campaign(
    federation: Federation,
    question: Question,
    calendar: Calendar,
    designs: Sequence[str],
    *,
    seed: int,
    repetition: int,
    simulator: str = "exact",
) -> CampaignRun:
    """Ask every week, in every way; the same seed and repetition give the same scores."""
    populations = Populations()
    key = _drawn_seed(seed, repetition, KEY_STREAM)
    first = prepared(federation, question, key, populations)
    question = replace(question, encoding=first.strategy.settled_encoding)
    drifting = default_rng(SeedSequence(seed, spawn_key=(repetition, DRIFT_STREAM)))
    weeks = weekly_places(federation, drift=calendar.drift, k=question.k, randomness=drifting)
    earlier = EarlierWeeks()
    f1: dict[str, list[float]] = {design: [] for design in designs}
    seconds = dict.fromkeys(designs, 0.0)
    for week, places in enumerate(islice(weeks, calendar.weeks)):
        if (place := week % calendar.cycle) == 0:
            slots = drawn_slots(
                federation, calendar.cycle, default_rng(SeedSequence(seed, spawn_key=(repetition, SLOT_STREAM, week)))
            )
        whole = first.population.among(moved(federation, places))
        answering = first.population.among(moved(slots[place], places))
        for design in designs:
            asked = earlier.asking(question) if design == SEEDED else question
            if design == EVERYBODY:
                asked = replace(question, epsilon=float(question.epsilon) / calendar.cycle)
            ready = prepared(federation, asked, key, populations)
            outcome = run(
                ready.mechanism,
                ready.parameters,
                whole if design == EVERYBODY else answering,
                seed=_drawn_seed(seed, repetition, WEEK_STREAM, week, DESIGNS.index(design)),
                simulator=simulator,
            )
            if design == SEEDED:
                earlier = earlier.followed_by(outcome.ranking)
            f1[design].append(score(outcome, whole, question.k).f1)
            seconds[design] += outcome.seconds
    return CampaignRun(f1, seconds)


def _drawn_seed(seed: int, *place: int) -> int:
    return int(SeedSequence(seed, spawn_key=place).generate_state(1, np.uint64)[0])
