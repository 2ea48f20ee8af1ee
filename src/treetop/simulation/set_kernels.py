"""The compiled loops over users who hold sets: the items that a report covers, and the values it supports."""

from typing import Any

import numpy as np

from treetop.oracles.kernels import compiled, inlined


@inlined
def choose(randomness: Any, number: Any, most: Any, chosen: Any) -> Any:
    """Write T: all of `number` entries, or a uniform choice of `most` of them; return its size.

    The choice is Floyd's algorithm: `most` draws and no memory beyond T, however large the set.
    """
    if number <= most:
        for i in range(number):
            chosen[i] = i
        return number
    for i in range(most):
        last = number - most + i
        drawn = int(randomness.random() * (last + 1))
        for j in range(i):
            if chosen[j] == drawn:
                drawn = last
                break
        chosen[i] = drawn
    return most


@compiled
def chosen_items(randomness: Any, users: Any, starts: Any, items: Any, most: Any, chosen: Any) -> Any:
    """Write the items that the reports of some users cover, one user after the other; return their number."""
    T = np.empty(most, dtype=np.int64)
    written = 0
    for i in range(len(users)):
        first = starts[users[i]]
        for j in range(choose(randomness, starts[users[i] + 1] - first, most, T)):
            chosen[written] = items[first + T[j]]
            written += 1
    return written


@compiled
def draw_support(
    randomness: Any, users: Any, kinds: Any, starts: Any, items: Any, values: Any, chances: Any, holders: Any, own: Any
) -> None:
    """Count for every value the users who have it in T, and those of them whose report supports it.

    values[kind, item] is the value of an item in a report of that kind, or -1; equal values of a user are one.
    chances[k, j] is the probability that a report supports at most j of k distinct values. This draws |J|; all J of one
    size are equally likely, so a partial Fisher-Yates shuffle of the values chooses J.
    """
    most = len(chances) - 1
    T = np.empty(most, dtype=np.int64)
    found = np.empty(most, dtype=np.int64)
    for i in range(len(users)):
        first = starts[users[i]]
        k = 0
        for j in range(choose(randomness, starts[users[i] + 1] - first, most, T)):
            value = values[kinds[i], items[first + T[j]]]
            new = value >= 0
            for other in range(k):
                new = new and found[other] != value
            if new:
                found[k] = value
                holders[value] += 1
                k += 1
        u = randomness.random()
        size = 0
        while size < k and u >= chances[k, size]:
            other = size + int(randomness.random() * (k - size))
            found[size], found[other] = found[other], found[size]
            own[found[size]] += 1
            size += 1
