"""The histograms that accuracy is measured on: SYN is built in, the others are files that may be absent."""

import os
from pathlib import Path

from treetop.datasets.federation import Federation
from treetop.datasets.loading import federation_named

FOLDER = Path(os.environ.get("TREETOP_DATA", Path(__file__).parents[2] / "shared" / "data"))


def missing(names: list[str]) -> list[str]:
    return [name for name in names if name != "syn" and not (FOLDER / f"{name}.parquet").is_file()]


def histogram(name: str) -> Federation:
    return federation_named([name if name == "syn" else str(FOLDER / f"{name}.parquet")])
