"""Runs all that the paper's tables and figures need, each cell once, and goes on where a run stopped."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from treetop.datasets.paper_federations import Provenance
from treetop.evaluation.evaluate import Experiment, Given
from treetop.evaluation.grid import Grid, execute_cells
from treetop.query.find import Score
from treetop.reproduction.cell_journal import RunSettings, key_of, open_folder
from treetop.reproduction.federation_variants import FederationFacts, FederationVariants
from treetop.reproduction.specification import Planned, Specification, Variant, distinct_cells
from treetop.reproduction.verdicts import ClaimVerdict, Evidence, Measurements, Scores, judge

QUICK_REPEATS = 4
FULL_REPEATS = 50

Progress = Callable[[int], None]


@dataclass(frozen=True)
class Reproduction:
    """Everything that a report is written from."""

    specifications: tuple[Specification, ...]
    settings: RunSettings
    data: Path
    provenances: Mapping[str, Provenance]
    measurements: Measurements
    verdicts: tuple[ClaimVerdict, ...]


class Reproducer:
    """The cells of some tables and figures, those that are finished and those that are not."""

    def __init__(
        self,
        specifications: Sequence[Specification],
        data: Path,
        settings: RunSettings,
        output: Path,
        resume: bool = False,
    ) -> None:
        self.specifications = tuple(specifications)
        self.settings = settings
        self.data = data
        self.variants = FederationVariants(data, settings.seed)
        self.journal = journal = open_folder(output, settings, resume)
        finished = journal.read()
        self.keys = {planned: self._key(planned) for planned in self._wanted()}
        self.scores: dict[Planned, Sequence[Score]] = {
            planned: finished[key] for planned, key in self.keys.items() if key in finished
        }

    def _wanted(self) -> Iterator[Planned]:
        """Yield the cells whose federation is there."""
        for planned in distinct_cells(self.specifications):
            if planned.variant.federation not in self.variants.missing:
                yield planned

    def _key(self, planned: Planned) -> str:
        return key_of(planned, self.variants.provenances[planned.variant.federation].sha256)

    @property
    def pending(self) -> list[Planned]:
        """Return the cells that are still to be run."""
        return [planned for planned in self.keys if planned not in self.scores]

    @property
    def pending_runs(self) -> int:
        """Return how many runs they take."""
        return len(self.pending) * self.settings.repeats

    def run(self, workers: int, progress: Progress = lambda _: None, dask: str | None = None) -> None:
        """Run what is pending, in one pool of workers for all data, and write down every finished cell."""
        pending = sorted(self.pending, key=self._order_of_variants().__getitem__)
        if not pending:
            return
        experiments = [
            self._experiment(variant, list(group)) for variant, group in groupby(pending, key=lambda each: each.variant)
        ]
        populations = [population for each in experiments for population in each.populations]
        cells = tuple(cell for each in experiments for cell in each.grid.cells)
        grid = Grid(cells, self.settings.repeats, self.settings.seed)
        for index, scores in execute_cells(populations, grid, workers, progress, dask):
            self.journal.append(self.keys[pending[index]], scores)
            self.scores[pending[index]] = scores

    def _order_of_variants(self) -> dict[Planned, int]:
        """Return for every pending cell the first place of its data, so that each is encoded once."""
        first: dict[Variant, int] = {}
        return {planned: first.setdefault(planned.variant, len(first)) for planned in self.pending}

    def _experiment(self, variant: Variant, pending: Sequence[Planned]) -> Experiment:
        """Encode the data of a variant for its cells."""
        given = Given(self.variants.provenances[variant.federation].encoding)
        cells = tuple(planned.cell for planned in pending)
        federation = self.variants.federation(variant)
        return Experiment.of(federation, cells, given, repeats=self.settings.repeats, seed=self.settings.seed)

    def finished(self) -> Reproduction:
        """Return what was measured, in the order of the specifications, and what it says of the paper."""
        measurements = Measurements(self._ordered_scores(), self._facts())
        verdicts = tuple(
            judge(each, claim, Evidence(measurements.lookup(each), self.variants.substitutes, self.variants.missing))
            for each in self.specifications
            for claim in each.claims
        )
        return Reproduction(
            self.specifications, self.settings, self.data, self.variants.provenances, measurements, verdicts
        )

    def _ordered_scores(self) -> Scores:
        return {planned: self.scores[planned] for planned in self.keys if planned in self.scores}

    def _facts(self) -> dict[Variant, FederationFacts]:
        whole = [Variant(name) for name in self.variants.provenances if name not in self.variants.missing]
        variants = dict.fromkeys([*whole, *(planned.variant for planned in self.keys)])
        return {variant: self.variants.facts(variant) for variant in variants}
