"""Campaigns, averaged over many: `treetop evaluate --campaign`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from treetop.answers.result_files import html_table, html_text, write_result
from treetop.datasets.federation import Federation
from treetop.datasets.loading import as_federation
from treetop.encoding.normalisation import steps_named
from treetop.errors import InvalidInput
from treetop.evaluation.campaign_runs import DESIGNS, EVERYBODY, SEEDED, Calendar, CampaignRun, run_campaign
from treetop.evaluation.evaluate import Given
from treetop.evaluation.execute import Progress, finished_jobs
from treetop.evaluation.grid import Cell, Grid
from treetop.evaluation.results import mean, standard_error
from treetop.mechanisms.canopy import Canopy
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.strategy import Question

SEEDABLE = (Panorama.name, Canopy.name)


@dataclass(frozen=True)
class CampaignRow:
    """One mechanism, asked in one way: means over repetitions, with a standard error where there are two at least."""

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
    questions: tuple[Question, ...]
    grid: Grid
    calendar: Calendar
    designs: tuple[str, ...]

    @classmethod
    def of(
        cls, data: Any, grid: Grid, given: Given, calendar: Calendar, designs: Sequence[str] = DESIGNS
    ) -> "CampaignExperiment":
        """Check what was asked for; items and lists are normalised once, before anything drifts."""
        federation = as_federation(data)
        steps = steps_named(given.normalise)
        if steps:
            known = (None if each is None else each.normalised(steps) for each in (given.catalogue, given.word_list))
            catalogue, words = known
            federation = federation.normalised(steps)
            given = replace(given, catalogue=catalogue, word_list=words, normalise=())
        for cell in grid.cells:
            if SEEDED in designs and cell.mechanism.name not in SEEDABLE:
                raise InvalidInput("campaign_mechanism", seedable=" or ".join(SEEDABLE), name=cell.mechanism.name)
        others = tuple(cell.mechanism for cell in grid.cells)
        questions = tuple(given.question(cell, federation, others) for cell in grid.cells)
        return cls(federation, questions, grid, calendar, tuple(designs))

    def run_one(self, job: tuple[int, int]) -> CampaignRun:
        """Run one repetition of one cell."""
        index, repetition = job
        return run_campaign(
            self.federation,
            self.questions[index],
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
        weeks = [[run.f1[design][week] for run in runs] for week in range(calendar.weeks)]
        later = [mean(run.f1[design][1:]) for run in runs]
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
            seconds=mean([run.seconds[design] for run in runs]) / calendar.weeks,
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
