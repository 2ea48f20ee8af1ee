"""Simulated campaigns, averaged over many: `treetop evaluate --campaign`.

A campaign asks the same question every week, over items that drift, in one of three designs. In `everybody` each user
answers every week and divides what she may spend in a cycle by its weeks. In `rotation` she answers in one week of the
cycle, drawn uniformly, and spends all of it there. `seeded` is rotation in which every week counts again what earlier
weeks found. All designs see the same weeks, and both rotations ask the same users.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.random import SeedSequence, default_rng

from treetop.answers.result_files import html_table, html_text, write_result
from treetop.datasets.federation import Federation
from treetop.datasets.loading import as_federation
from treetop.encoding.normalisation import steps_named
from treetop.errors import InvalidInput
from treetop.evaluation.evaluate import cell_query, mean, standard_error
from treetop.evaluation.grid import Cell, Grid, Progress, finished_jobs
from treetop.mechanisms.canopy import Canopy
from treetop.mechanisms.earlier_weeks import EarlierWeeks
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.query import Query
from treetop.query.find import score
from treetop.query.preparation import Populations, prepared
from treetop.simulation.run import run
from treetop.simulation.weeks import DRIFT, drawn_slots, moved, weekly_places

EVERYBODY = "everybody"
ROTATION = "rotation"
SEEDED = "seeded"
DESIGNS = (EVERYBODY, ROTATION, SEEDED)
SEEDABLE = (Panorama.name, Canopy.name)
"""Mechanisms that can count again what earlier weeks found."""
WEEKS = 12
MIN_WEEKS = 2
MAX_WEEKS = 1000
# Runs draw under spawn keys (repetition, party): no party has an index of 2^30.
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
    """Scores of the weeks of one campaign, by design."""

    f1: Mapping[str, Sequence[float]]
    seconds: Mapping[str, float]


def run_campaign(
    federation: Federation,
    query: Query,
    calendar: Calendar,
    designs: Sequence[str],
    *,
    seed: int,
    repetition: int,
    simulator: str = "exact",
) -> CampaignRun:
    """Ask every week, in every design; the same seed and repetition give the same scores."""

    def drawn_seed(*stream: int) -> int:
        return int(SeedSequence(seed, spawn_key=(repetition, *stream)).generate_state(1, np.uint64)[0])

    def generator(*stream: int) -> np.random.Generator:
        return default_rng(SeedSequence(seed, spawn_key=(repetition, *stream)))

    populations = Populations()
    key = drawn_seed(KEY_STREAM)
    first = prepared(federation, query, key, populations)
    # Settled once, so that no later week chooses an encoding by looking at all items.
    query = replace(query, encoding=first.strategy.settled_encoding)
    weeks = weekly_places(federation, drift=calendar.drift, k=query.k, randomness=generator(DRIFT_STREAM))
    earlier = EarlierWeeks()
    f1: dict[str, list[float]] = {design: [] for design in designs}
    seconds = dict.fromkeys(designs, 0.0)
    for week, places in enumerate(islice(weeks, calendar.weeks)):
        if (slot := week % calendar.cycle) == 0:
            slots = drawn_slots(federation, calendar.cycle, generator(SLOT_STREAM, week))
        whole = first.population.among(moved(federation, places))
        answering = first.population.among(moved(slots[slot], places))
        for design in designs:
            asked = earlier.asking(query) if design == SEEDED else query
            if design == EVERYBODY:
                asked = replace(query, epsilon=float(query.epsilon) / calendar.cycle)
            ready = prepared(federation, asked, key, populations)
            outcome = run(
                ready.mechanism,
                ready.parameters,
                whole if design == EVERYBODY else answering,
                seed=drawn_seed(WEEK_STREAM, week, DESIGNS.index(design)),
                simulator=simulator,
            )
            if design == SEEDED:
                earlier = earlier.followed_by(outcome.ranking)
            # The truth is that of all users in this week, also where only one slot of them answered.
            f1[design].append(score(outcome, whole, query.k).f1)
            seconds[design] += outcome.seconds
    return CampaignRun(f1, seconds)


@dataclass(frozen=True)
class CampaignRow:
    """One mechanism in one design: means over repetitions, with a standard error from two repetitions on."""

    data: str
    mechanism: str
    design: str
    epsilon: float
    """What everybody spends in a cycle."""
    weekly_epsilon: float
    """Of a report."""
    lifetime_epsilon: float
    """What everybody spends in all weeks."""
    k: int
    weeks: int
    cycle: int
    drift: float
    repeats: int
    f1: float
    """Mean of all weeks but the first."""
    f1_se: float | None
    """Of this mean, between repetitions."""
    f1_of_weeks: tuple[float, ...]
    seconds: float
    """Of one week."""


@dataclass(frozen=True, eq=False)
class CampaignExperiment:
    """Cells of a grid over the weeks of drifting data, ready to run."""

    federation: Federation
    queries: tuple[Query, ...]
    grid: Grid
    calendar: Calendar
    designs: tuple[str, ...]

    @classmethod
    def of(
        cls, data: Any, grid: Grid, given: Query, calendar: Calendar, designs: Sequence[str] = DESIGNS
    ) -> "CampaignExperiment":
        """Check the request, and normalise items and lists once, before anything drifts."""
        federation = as_federation(data)
        steps = steps_named(given.normalise)
        if steps:
            catalogue, words = (
                None if each is None else each.normalised(steps) for each in (given.catalogue, given.word_list)
            )
            federation = federation.normalised(steps)
            given = replace(given, catalogue=catalogue, word_list=words, normalise=())
        for cell in grid.cells:
            if SEEDED in designs and cell.mechanism.name not in SEEDABLE:
                raise InvalidInput("campaign_mechanism", seedable=" or ".join(SEEDABLE), name=cell.mechanism.name)
        others = tuple(cell.mechanism for cell in grid.cells)
        queries = tuple(cell_query(given, cell, federation, others) for cell in grid.cells)
        return cls(federation, queries, grid, calendar, tuple(designs))

    def run_one(self, job: tuple[int, int]) -> CampaignRun:
        """Run one repetition of one cell."""
        index, repetition = job
        return run_campaign(
            self.federation,
            self.queries[index],
            self.calendar,
            self.designs,
            seed=self.grid.seed,
            repetition=repetition,
            simulator=self.grid.simulator,
        )

    def rows(
        self, workers: int = 1, progress: Progress = lambda _: None, dask: str | None = None
    ) -> Iterator[CampaignRow]:
        """Yield the rows of every cell as soon as all its repetitions are done."""
        jobs = [(index, number) for index in range(len(self.grid.cells)) for number in range(self.grid.repeats)]
        waiting: dict[int, dict[int, CampaignRun]] = {index: {} for index in range(len(self.grid.cells))}
        for (index, number), done in finished_jobs(self.run_one, jobs, workers, dask):
            waiting[index][number] = done
            progress(1)
            if len(waiting[index]) == self.grid.repeats:
                runs = [waiting[index][each] for each in range(self.grid.repeats)]
                yield from (self._row(self.grid.cells[index], design, runs) for design in self.designs)

    def _row(self, cell: Cell, design: str, runs: Sequence[CampaignRun]) -> CampaignRow:
        calendar = self.calendar
        epsilon = float(cell.parameters.epsilon)
        weeks = [[each.f1[design][week] for each in runs] for week in range(calendar.weeks)]
        # Nothing seeds the first week, so campaign_figures.md compares designs from the second one on.
        later = [mean(each.f1[design][1:]) for each in runs]
        weekly = epsilon / calendar.cycle if design == EVERYBODY else epsilon
        cycles = -(-calendar.weeks // calendar.cycle)
        return CampaignRow(
            data=self.federation.name,
            mechanism=cell.name,
            design=design,
            epsilon=epsilon,
            weekly_epsilon=weekly,
            lifetime_epsilon=calendar.weeks * weekly if design == EVERYBODY else cycles * epsilon,
            k=cell.parameters.k,
            weeks=calendar.weeks,
            cycle=calendar.cycle,
            drift=calendar.drift,
            repeats=len(runs),
            f1=mean(later),
            f1_se=standard_error(later),
            f1_of_weeks=tuple(mean(week) for week in weeks),
            seconds=mean([each.seconds[design] for each in runs]) / calendar.weeks,
        )


@dataclass(frozen=True)
class CampaignEvaluation:
    """The rows of campaigns, and the seed that gives them again."""

    rows: tuple[CampaignRow, ...]
    seed: int

    def to_json(self) -> list[dict[str, Any]]:
        """Return the rows as `treetop evaluate --campaign --json` prints them."""
        return [asdict(row) | {"f1_of_weeks": list(row.f1_of_weeks)} for row in self.rows]

    def write(self, path: str | Path) -> None:
        """Write the rows to .parquet, .csv, .json or .html, with a column for every week."""
        flat = [
            {name: value for name, value in row.items() if name != "f1_of_weeks"}
            | {f"f1_week_{week}": f1 for week, f1 in enumerate(row["f1_of_weeks"], start=1)}
            for row in self.to_json()
        ]
        table = pa.Table.from_pylist(flat).replace_schema_metadata({"seed": str(self.seed)})
        cells = [[html_text(str(value)) for value in row.values()] for row in flat]
        html = html_table(f"Campaigns, seed {self.seed}", table.column_names, cells, 2, [])
        write_result(path, table, self.to_json(), html)
