"""Writes the test vectors: `python -m tests.vectors.generate`. They change only when a format does."""

import json
from pathlib import Path

from tests.unit.oracles.test_hash_family import by_hand

HERE = Path(__file__).parent


def olh_hash() -> list[dict[str, int]]:
    cases = [
        (seed, key, count)
        for seed in (0, 1, 0x9E3779B9, 2**32 - 1)
        for key in (0, 1, 0xDEADBEEF, 2**48 - 1, 2**64 - 1)
        for count in (2, 4, 9, 56, 65536)
    ]
    return [{"seed": s, "key": k, "buckets": c, "bucket": by_hand(s, k, c)} for s, k, c in cases]


def main() -> None:
    (HERE / "olh_hash.json").write_text(json.dumps(olh_hash(), indent=1) + "\n")


if __name__ == "__main__":
    main()
