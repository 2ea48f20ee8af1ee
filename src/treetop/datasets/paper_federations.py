"""The paper's five federations: histograms in a folder, or drawn where the paper draws them."""

from dataclasses import dataclass, replace
from hashlib import file_digest
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from treetop.datasets.federation import Federation
from treetop.datasets.loading import load
from treetop.datasets.synthetic import CONCENTRATION, DEFAULT_SEED, synthetic
from treetop.errors import InvalidInput, UnknownName

COLUMNS = ("party", "item", "users")


@dataclass(frozen=True)
class Source:
    """One file that may hold a federation, and how it differs from the paper's."""

    file: str
    remark: str = ""
    substitute: bool = False


@dataclass(frozen=True)
class PaperFederation:
    """A federation of the paper: the files that may hold it, the best one first."""

    name: str
    sources: tuple[Source, ...]
    encoding: str


_PLAIN = "a word repeated inside a record counts as often as it stands there; the paper counts it once"
_TMALL = "SUBSTITUTE: a Tmall click log in six parties of our own making, not the paper's UBA"

PAPER_FEDERATIONS = {
    each.name: each
    for each in (
        PaperFederation("RDB", (Source("rdb_distinct.parquet"), Source("rdb.parquet", _PLAIN)), "words"),
        PaperFederation("YCM", (Source("ycm_distinct.parquet"), Source("ycm.parquet", _PLAIN)), "words"),
        PaperFederation("TYS", (Source("tys_distinct.parquet"), Source("tys.parquet", _PLAIN)), "words"),
        PaperFederation(
            "UBA", (Source("uba.parquet"), Source("uba_sub_tmall.parquet", _TMALL, substitute=True)), "ids"
        ),
        PaperFederation("SYN", (), "ids"),
    )
}


@dataclass(frozen=True)
class Provenance:
    """The origin of a federation's users."""

    name: str
    path: Path | None
    """None for SYN, which is drawn, and for a federation that is missing."""
    sha256: str
    remark: str
    encoding: str
    substitute: bool = False
    missing: bool = False

    def word(self, draw: int = DEFAULT_SEED, concentration: float = CONCENTRATION) -> str:
        """Return the argument of `treetop evaluate` for these data."""
        if self.path is not None:
            return str(self.path)
        if concentration != CONCENTRATION:
            return f"syn:{draw}:{concentration:g}"
        return "syn" if draw == DEFAULT_SEED else f"syn:{draw}"


def provenance(folder: Path, name: str) -> Provenance:
    """Look for a federation in a folder; the answer for a missing one has `missing`."""
    if name not in PAPER_FEDERATIONS:
        raise UnknownName("federation", name, PAPER_FEDERATIONS)
    known = PAPER_FEDERATIONS[name]
    if not known.sources:
        return Provenance(name, None, "", "drawn by the paper's recipe, seed 0", known.encoding)
    for source in known.sources:
        path = folder / source.file
        if path.is_file():
            with path.open("rb") as file:
                checksum = file_digest(file, "sha256").hexdigest()
            return Provenance(name, path, checksum, source.remark, known.encoding, source.substitute)
    files = " nor ".join(source.file for source in known.sources)
    return Provenance(name, None, "", f"neither {files} is in {folder}", known.encoding, missing=True)


def read(found: Provenance) -> Federation:
    """Read a federation that was found; all three columns must be there."""
    if found.path is None:
        return synthetic()
    try:
        columns = pa.parquet.read_schema(found.path).names
    except (pa.ArrowException, OSError):
        raise InvalidInput("histogram_not_parquet", path=found.path) from None
    missing = [name for name in COLUMNS if name not in columns]
    if missing:
        wanted = ", ".join(COLUMNS)
        there = ", ".join(columns) or "none"
        raise InvalidInput("histogram_columns", path=found.path, wanted=wanted, there=there)
    return replace(load(found.path), encoding=found.encoding)
