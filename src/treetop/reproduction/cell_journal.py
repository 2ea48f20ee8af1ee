"""Finished cells on disk: each is written down durably before the next one counts as done."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from treetop.errors import InvalidInput
from treetop.query.find import Score
from treetop.reproduction.specification import Planned
from treetop.secret_files import open_own
from treetop.whole_files import write_whole

JOURNAL = "cells.jsonl"
SETTINGS = "run.json"


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


SCORE_NAMES = ("f1", "ncr", "local_recall", "uplink_bits", "seconds")


def key_of(planned: Planned, checksum: str) -> str:
    """Return the name of a cell: data and every parameter, so that no change goes unnoticed."""
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
