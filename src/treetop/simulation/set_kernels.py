"""The compiled loops over users who hold sets: who speaks of what, and what her report supports."""

from typing import Any

import numpy as np

from treetop.oracles.kernels import compiled, inlined


@inlined
def choose(randomness: Any, number: Any, most: Any, chosen: Any) -> Any:
    """Write T: all of so many entries, or a uniform choice of `most` (Floyd's algorithm); return how many."""
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
    """Write the items that each of some users speaks of, one user after the other; return how many in all."""
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
    """Add up who has which value in T, and which of a user's own values her report supports.

    values[kind, item] is what an item stands for in a report of that kind, or -1; equal ones of a user are one.
    chances[k, j] is how likely a report supports at most j of k distinct values: this is |J|, and all J of one size are
    equally likely.
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
