"""The quick reproduction of the paper, as a share of ninety seconds on two cores."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.histograms import FOLDER
from benchmarks.measuring import Failed, Measured, Row

TITLE = "The quick reproduction"
SECONDS = 2 * 90.0
LIMITS = "Processor time of all its processes; where two cores are free, wall time is a little more than half of it."
WHAT = "`treetop reproduce --quick`, processor time / 90 seconds on two cores"


def processor_seconds() -> float:
    """Return what all processes that this one has waited for have used, with their own children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure() -> list[Row]:
    if not FOLDER.is_dir():
        return [Failed(WHAT, f"no histograms in {FOLDER.name}: name a folder with TREETOP_DATA")]
    begin = processor_seconds()
    with tempfile.TemporaryDirectory() as output:
        words = ["reproduce", "--quick", "--data", str(FOLDER), "--output", str(Path(output) / "out"), "--seed", "1"]
        subprocess.run([sys.executable, "-m", "treetop", *words], check=True, capture_output=True, timeout=3600)  # noqa: S603  our own
    seconds = processor_seconds() - begin
    return [Measured(WHAT, seconds / SECONDS, 1, seconds, SECONDS)]
