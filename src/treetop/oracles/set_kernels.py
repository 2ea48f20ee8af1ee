"""The compiled loop of devices that report sets."""

from typing import Any

import numpy as np

from treetop.oracles.compiling import compiled


@compiled
def reported_buckets(starts: Any, buckets: Any, words: Any, own: Any, others: Any, reported: Any) -> None:
    """Write the bucket that every user reports, as `set_reports.SetFace.bucket` has it.

    `own` has h A for every h, and `others` for every h the first word of each bucket that is not one of her own.
    """
    found = np.empty(len(own), dtype=np.int64)
    for user in range(len(starts) - 1):
        h = 0
        for entry in range(starts[user], starts[user + 1]):  # her distinct buckets, ascending
            place = h
            while place > 0 and found[place - 1] > buckets[entry]:
                place -= 1
            if place > 0 and found[place - 1] == buckets[entry]:
                continue
            for i in range(h, place, -1):
                found[i] = found[i - 1]
            found[place] = buckets[entry]
            h += 1
        word = words[user]
        if word < own[h]:
            number = 0
            while word >= own[number + 1]:
                number += 1
            reported[user] = found[number]
            continue
        bucket = np.searchsorted(others[h, : others.shape[1] - h], word, side="right") - 1
        for i in range(h):
            bucket += bucket >= found[i]
        reported[user] = bucket
