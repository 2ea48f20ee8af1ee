"""Writes all test vectors: `python -m tests.vectors.generate`. They change only when a format does."""

import json
from dataclasses import asdict, replace
from pathlib import Path

from tests.support.report_batches import KEYS, KINDS, asking, random_reports, written
from tests.unit.oracles.test_hashing import by_hand
from tests.vectors import (
    campaign_vectors,
    conduct_vectors,
    device_vectors,
    document_vectors,
    message_vectors,
    set_vectors,
)

from treetop.adapters.report_files.counting import count_file
from treetop.adapters.report_files.sealed_file import ReportKind

HERE = Path(__file__).parent


def olh_hash() -> list[dict[str, object]]:
    """Keys have up to 64 bits, more than JavaScript reads from a JSON number: they are texts."""
    cases = [
        (seed, key, count)
        for seed in (0, 1, 0x9E3779B9, 2**32 - 1)
        for key in (0, 1, 0xDEADBEEF, 2**48 - 1, 2**64 - 1)
        for count in (2, 4, 9, 56, 65536)
    ]
    return [{"seed": s, "key": str(k), "buckets": c, "bucket": by_hand(s, k, c)} for s, k, c in cases]


def report_files() -> dict[str, object]:
    """Small files of every kind with their tallies, and damaged copies with the reason of the refusal."""
    folder = HERE / "report_files"
    folder.mkdir(exist_ok=True)
    good = {name: _good_file(folder / f"{name.replace(' ', '_')}.parquet", kind) for name, kind in KINDS.items()}
    whole = (folder / "olh.parquet").read_bytes()
    (folder / "truncated.parquet").write_bytes(whole[:-20])
    (folder / "flipped.parquet").write_bytes(whole[:200] + bytes([whole[200] ^ 1]) + whole[201:])
    written(folder / "foreign.parquet", replace(KINDS["olh"], task="f0" * 32), random_reports(KINDS["olh"], 100))
    bad = {"truncated": "", "flipped": "checksum", "foreign": "kind"}
    return {"keys": KEYS.tolist(), "good": good, "bad": bad}


def _good_file(path: Path, kind: ReportKind) -> dict[str, object]:
    written(path, kind, random_reports(kind, 100), rows_per_group=60)
    tally = count_file(path, asking(kind))
    return {"file": path.name, "kind": asdict(kind), "reports": tally.reports, "support": tally.support.tolist()}


FILES = {
    "olh_hash.json": olh_hash, **device_vectors.FILES, **set_vectors.FILES, **conduct_vectors.FILES,
    **campaign_vectors.FILES, **message_vectors.FILES, **document_vectors.FILES,
}  # fmt: skip
"""The vectors that are JSON alone, and what makes each."""


def text_of(name: str) -> str:
    return json.dumps(FILES[name](), indent=1) + "\n"


def main() -> None:
    (HERE / "report_files.json").write_text(json.dumps(report_files()) + "\n")
    for name in FILES:
        (HERE / name).write_text(text_of(name))


if __name__ == "__main__":
    main()
