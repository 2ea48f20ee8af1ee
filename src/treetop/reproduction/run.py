"""Run every cell that the paper's tables and figures need, once each, and continue where an earlier run stopped.

A finished cell is on the disk, flushed, before the next one counts as done.
"""

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path

from treetop.datasets.paper_federations import Provenance
from treetop.errors import InvalidInput
from treetop.evaluation.evaluate import Experiment
from treetop.evaluation.grid import Grid, execute_cells
from treetop.mechanisms.query import Query
from treetop.query.find import Score
from treetop.reproduction.federation_variants import FederationFacts, FederationVariants
from treetop.reproduction.specification import Planned, Specification, Variant, distinct_cells
from treetop.reproduction.verdicts import ClaimVerdict, Evidence, Measurements, judge
from treetop.secret_files import open_own
from treetop.whole_files import write_whole

JOURNAL = "cells.jsonl"
SETTINGS = "run.json"
SCORE_NAMES = ("f1", "ncr", "local_recall", "uplink_bits", "seconds")
QUICK_REPEATS = 4
FULL_REPEATS = 50

Progress = Callable[[int], None]


@dataclass(frozen=True)
class RunSettings:
    """All that the numbers depend on besides the cells and the data."""

    seed: int
    repeats: int
    treetop: str
    numpy: str


class CellJournal:
    """One line per finished cell; a line that a crash cut short is dropped."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL

    def read(self) -> dict[str, tuple[Score, ...]]:
        """Return the finished cells by key, and cut off an unfinished last line."""
        if not self.path.exists():
            return {}
        data = self.path.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        if len(whole) < len(data):
            with open_own(self.path) as file:
                file.truncate(len(whole))
        finished: dict[str, tuple[Score, ...]] = {}
        for number, line in enumerate(whole.splitlines(), start=1):
            finished.setdefault(*self._entry(number, line))  # a finished cell never changes
        return finished

    def _entry(self, number: int, line: bytes) -> tuple[str, tuple[Score, ...]]:
        try:
            entry = json.loads(line)
            columns = entry["scores"]
            scores = tuple(Score(*values) for values in zip(*(columns[name] for name in SCORE_NAMES), strict=True))
            return str(entry["cell"]), scores
        except (ValueError, KeyError, TypeError, RecursionError):
            raise InvalidInput("run_line_damaged", path=self.path, number=number) from None

    def append(self, key: str, scores: Sequence[Score]) -> None:
        """Write one cell and wait until the disk has it."""
        columns = {name: [getattr(score, name) for score in scores] for name in SCORE_NAMES}
        line = json.dumps({"cell": key, "scores": columns}, allow_nan=False) + "\n"
        with open_own(self.path) as file:
            file.seek(0, os.SEEK_END)
            file.write(line.encode())
            file.flush()
            os.fsync(file.fileno())


def key_of(planned: Planned, checksum: str) -> str:
    """Return the key of a cell: the data's digest and every parameter, so that no change goes unnoticed."""
    cell = {"mechanism": planned.cell.mechanism.name, **asdict(planned.cell.parameters)}
    return json.dumps({"sha256": checksum, **asdict(planned.variant), **cell}, sort_keys=True)


def open_folder(folder: Path, settings: RunSettings, resume: bool) -> CellJournal:
    """Prepare the output folder: a new one, or one that was begun with the same settings."""
    begun = begun_settings(folder)
    if begun is not None and not resume:
        raise InvalidInput("run_exists", folder=folder)
    if begun is not None and begun != settings:
        was = ", ".join(f"{name} {value}" for name, value in asdict(begun).items())
        now = ", ".join(f"{name} {value}" for name, value in asdict(settings).items())
        raise InvalidInput("run_differs", folder=folder, was=was, now=now)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if begun is None:
            write_whole(folder / SETTINGS, json.dumps(asdict(settings), indent=2).encode() + b"\n")
    except OSError as reason:
        raise InvalidInput("folder_not_writable", folder=folder, reason=reason.strerror) from None
    return CellJournal(folder)


def begun_settings(folder: Path) -> RunSettings | None:
    """Return the settings that a folder was begun with, if it was."""
    path = folder / SETTINGS
    if not path.exists():
        return None
    try:
        return RunSettings(**json.loads(path.read_bytes()))
    except (ValueError, TypeError, OSError, RecursionError):
        raise InvalidInput("run_file_damaged", path=path) from None


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
    """The cells of some tables and figures, finished and pending."""

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
        """Yield the cells whose federation was found."""
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
        # Cells of the same data follow each other, so that each variant is encoded once.
        first: dict[Variant, int] = {}
        pending = sorted(self.pending, key=lambda planned: first.setdefault(planned.variant, len(first)))
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

    def _experiment(self, variant: Variant, pending: Sequence[Planned]) -> Experiment:
        """Encode the data of a variant for its cells."""
        given = Query(encoding=self.variants.provenances[variant.federation].encoding)
        cells = tuple(planned.cell for planned in pending)
        federation = self.variants.federation(variant)
        return Experiment.of(federation, cells, given, repeats=self.settings.repeats, seed=self.settings.seed)

    def finished(self) -> Reproduction:
        """Return the measurements, in the order of the specifications, and the verdicts on the paper's claims."""
        # In the order of the keys, not in that of the workers: the files are then the same for the same seed.
        scores = {planned: self.scores[planned] for planned in self.keys if planned in self.scores}
        measurements = Measurements(scores, self._facts())
        verdicts = tuple(
            judge(each, claim, Evidence(measurements.lookup(each), self.variants.substitutes, self.variants.missing))
            for each in self.specifications
            for claim in each.claims
        )
        return Reproduction(
            self.specifications, self.settings, self.data, self.variants.provenances, measurements, verdicts
        )

    def _facts(self) -> dict[Variant, FederationFacts]:
        whole = [Variant(name) for name in self.variants.provenances if name not in self.variants.missing]
        variants = dict.fromkeys([*whole, *(planned.variant for planned in self.keys)])
        return {variant: self.variants.facts(variant) for variant in variants}
