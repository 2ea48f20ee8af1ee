"""Asks a federation of many parties in one process again and again; prints what it took as one JSON object.

Arguments: parties, users in all, queries. The server runs a real query manager over a SQLite journal; parties
are in memory.
"""

import json
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.federations import items
from tests.support.fixed_entropy import FixedEntropy
from tests.support.journals import ScriptedJournal
from tests.support.servers import Signed, manager_over

from treetop.adapters.memory.ports import MemoryChannel
from treetop.adapters.store_choice import open_stores
from treetop.services.server.query_manager import QueryManager
from treetop.services.server.schemas import OrderWanted

BITS, LEVELS = 48, 24
FAVOURITES = (0xA5A5A5A5A5A5, 0x123456789ABC, 0x0F0F0F0F0F0F)
SHARES = (0.3, 0.2, 0.1)
LIMIT_SECONDS = 1800


def codes(users: int, seed: int) -> list[int]:
    """Most users hold a favourite, the others anything."""
    random = np.random.default_rng(seed)
    held = np.concatenate([np.full(int(share * users), code) for code, share in zip(FAVOURITES, SHARES, strict=True)])
    others = random.integers(1 << BITS, size=users - len(held))
    return [*held.tolist(), *others.tolist()]


def order(mechanism: str, number: int) -> dict[str, Any]:
    levels = {"canopy": {"step_bits": str(BITS // LEVELS)}, "taps": {"levels": str(LEVELS)}}[mechanism]
    return {
        "name": f"{mechanism} {number}", "k": 3, "epsilon": "4", "encoding": "ids", "mechanism": mechanism,
        "settings": {"bits": str(BITS), **levels}, "least": {"estimate": 1, "validation": 1},
    }  # fmt: skip


def asked(manager: QueryManager, content: dict[str, Any]) -> dict[str, Any]:
    task, end = manager.take(OrderWanted.model_validate(content)).task, time.monotonic() + LIMIT_SECONDS
    while manager.state(task).state == "running" and time.monotonic() < end:
        time.sleep(0.02)
    assert manager.state(task).state == "answered", manager.state(task)
    result: dict[str, Any] = json.loads(manager.result(task) or b"")
    return result


def soak(parties: dict[str, Signed], manager: QueryManager, queries: int) -> Iterator[dict[str, Any]]:
    for number in range(queries):
        for mechanism in ("canopy", "taps"):
            begin = time.monotonic()
            found = asked(manager, order(mechanism, number))
            yield {
                "mechanism": mechanism, "seconds": round(time.monotonic() - begin, 2), "items": items(found),
                "missing": len(found["missing"]), "users": sum(party["users"] for party in found["parties"]),
                "descriptors": len(os.listdir("/proc/self/fd")), "threads": threading.active_count(),
                "megabytes": int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20,
            }  # fmt: skip
            for party in parties.values():  # what was counted is exported and scrubbed
                party.tasks.clear()
                party.collection.clear()
                party.queries.clear()
                party.journal.kept.clear()  # type: ignore[attr-defined]


def main(number: int, users: int, queries: int) -> None:
    parties = {
        f"p{place:02d}": Signed(f"p{place:02d}", codes(users // number, place), FixedEntropy(place), ScriptedJournal())
        for place in range(number)
    }
    with tempfile.TemporaryDirectory() as place:
        store, journal = open_stores(str(Path(place) / "journal.db"))
        channels = {name: MemoryChannel(name, party) for name, party in parties.items()}
        rows = list(soak(parties, manager_over(journal, channels), queries))
        store.close()
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(json.dumps({"megabytes": memory, "queries": rows}))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
