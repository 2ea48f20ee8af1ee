"""R19: fifty parties, twenty-four levels, a million users, again and again: no growth of memory, files or threads."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

MOST_MEGABYTES = 2_000


@pytest.mark.slow
@pytest.mark.parametrize(("users", "queries"), [(1_000_000, 2), (100_000, 10)])
def test_fifty_parties_of_a_million_users_again_and_again(users: int, queries: int) -> None:
    command = [sys.executable, "-m", "tests.faults.soaking_federation", "50", str(users), str(queries)]
    root = Path(__file__).parents[2]
    found = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=3600, check=False)
    assert found.returncode == 0, found.stderr
    told = json.loads(found.stdout)
    print(told)
    assert told["megabytes"] <= MOST_MEGABYTES
    assert {row["users"] for row in told["queries"]} == {users}
    assert {row["missing"] for row in told["queries"]} == {0}
    assert len(told["queries"]) == 2 * queries
    first, *others = told["queries"]
    assert all(row["descriptors"] <= first["descriptors"] for row in others)
    assert all(row["threads"] <= first["threads"] for row in others)
    if users == 1_000_000:
        assert {str(0xA5A5A5A5A5A5)} <= {row["items"][0] for row in told["queries"]}
