"""Small folders of histograms for the tests of `reproduce`."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

WORDS = ("apple", "banana", "cherry", "damson", "elder", "fig", "grape", "hazel", "iris", "juniper", "kale", "lime")


def write_histogram(path: Path, items: tuple[str, ...], parties: tuple[str, ...] = ("one", "two")) -> Path:
    """Write two parties whose items are ever less popular."""
    rows = [
        {"party": party, "item": item, "users": 4000 // (rank + place + 1)}
        for place, party in enumerate(parties)
        for rank, item in enumerate(items)
    ]
    pa.parquet.write_table(pa.Table.from_pylist(rows), path)
    return path


def small_folder(folder: Path) -> Path:
    """Write all five federations but YCM, which is missing, and SYN, which is drawn."""
    folder.mkdir(parents=True, exist_ok=True)
    write_histogram(folder / "rdb_distinct.parquet", WORDS)
    write_histogram(folder / "tys.parquet", WORDS[::-1])
    write_histogram(folder / "uba_sub_tmall.parquet", tuple(str(7 * number) for number in range(1, 14)))
    return folder
