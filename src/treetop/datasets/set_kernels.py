"""The compiled loops that gather rows into users' sets."""

from typing import Any

import numpy as np

from treetop.oracles.kernels import compiled


@compiled
def gathered(users: Any, items: Any, counts: Any, following: Any, held: Any, used: Any) -> None:
    """Write every row's item to its user's next entry; `counts` and `used` are empty where nothing is counted.

    A counting sort: `following` has the index of each user's next entry, so that one pass over the rows is enough.
    """
    counted = len(counts) > 0
    for row in range(len(users)):
        entry = following[users[row]]
        following[users[row]] += 1
        held[entry] = items[row]
        if counted:
            used[entry] = counts[row]


@compiled
def sort_sets(starts: Any, items: Any, counts: Any) -> Any:
    """Sort every user's items, with their counts if there are any; return the number of repeats."""
    counted = len(counts) > 0
    repeated = 0
    for user in range(len(starts) - 1):
        first = starts[user]
        end = starts[user + 1]
        if counted:
            order = np.argsort(items[first:end])
            items[first:end] = items[first:end][order]
            counts[first:end] = counts[first:end][order]
        else:
            items[first:end].sort()
        for entry in range(first + 1, end):
            repeated += items[entry] == items[entry - 1]
    return repeated


@compiled
def merge_repeated(starts: Any, items: Any, counts: Any, merged: Any) -> Any:
    """Move every user's distinct items together, adding up the counts of equal ones; return their number."""
    kept = 0
    for user in range(len(starts) - 1):
        merged[user] = kept
        for entry in range(starts[user], starts[user + 1]):
            if entry > starts[user] and items[entry] == items[kept - 1]:
                counts[kept - 1] += counts[entry]
            else:
                items[kept], counts[kept] = items[entry], counts[entry]
                kept += 1
    merged[len(starts) - 1] = kept
    return kept
