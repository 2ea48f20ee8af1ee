"""R19: fifty parties, twenty-four levels, a million users, again and again: no growth of memory, files or threads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support import soaking_federation

MOST_MEGABYTES, MORE_MEGABYTES, USERS, QUERIES = 2_000, 200, 1_000_000, 100
FAVOURITES = [str(code) for code in soaking_federation.FAVOURITES]


@pytest.mark.slow
def test_fifty_parties_of_a_million_users_answer_a_hundred_queries() -> None:
    command = [sys.executable, "-m", "tests.support.soaking_federation", "50", str(USERS), str(QUERIES // 2)]
    root = Path(__file__).parents[2]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=3600, check=False)
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    assert told["megabytes"] <= MOST_MEGABYTES
    assert told["queries"][-1]["megabytes"] - told["queries"][9]["megabytes"] <= MORE_MEGABYTES
    assert {row["users"] for row in told["queries"]} == {USERS}
    assert {row["missing"] for row in told["queries"]} == {0}
    assert len(told["queries"]) == QUERIES
    first, *others = told["queries"]
    assert all(row["descriptors"] <= first["descriptors"] for row in others)
    assert all(row["threads"] <= first["threads"] for row in others)
    assert all(row["items"] == FAVOURITES for row in told["queries"])
