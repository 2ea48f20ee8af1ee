"""Runs all that the paper's tables and figures need, each cell once, and goes on where a run stopped."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from treetop.datasets.paper_federations import Provenance
from treetop.evaluation.evaluate import Experiment, Given
from treetop.evaluation.execute import execute_cells
from treetop.query.find import Score
from treetop.reproduction.cell_journal import RunSettings, key_of, open_folder
from treetop.reproduction.federation_variants import FederationFacts, FederationVariants
from treetop.reproduction.specification import Planned, Specification, Variant, distinct_cells
from treetop.reproduction.verdicts import ClaimVerdict, Evidence, Measurements, Scores, judge

QUICK_REPEATS, FULL_REPEATS = 5, 50

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
        self.specifications, self.settings, self.data = tuple(specifications), settings, data
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
        """Run what is pending, variant by variant, and write down every finished cell."""
        order = {planned.variant: index for index, planned in reversed(list(enumerate(self.pending)))}
        pending = sorted(self.pending, key=lambda planned: order[planned.variant])
        for variant, group in groupby(pending, key=lambda planned: planned.variant):
            self._run_variant(variant, list(group), workers, progress, dask)

    def _run_variant(
        self, variant: Variant, pending: list[Planned], workers: int, progress: Progress, dask: str | None
    ) -> None:
        encoding = self.variants.provenances[variant.federation].encoding
        cells = tuple(planned.cell for planned in pending)
        experiment = Experiment.of(
            self.variants.federation(variant), cells, Given(encoding), repeats=self.settings.repeats,
            seed=self.settings.seed,
        )  # fmt: skip
        for index, scores in execute_cells(experiment.populations, experiment.grid, workers, progress, dask):
            self.journal.append(self.keys[pending[index]], scores)
            self.scores[pending[index]] = scores

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
