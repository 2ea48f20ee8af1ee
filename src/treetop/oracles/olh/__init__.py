"""Optimized local hashing: hash the value into d' buckets with a random seed, report the bucket by k-RR.

Privacy: the seed is independent of the value, and k-RR over the buckets gives p / q = e^epsilon whatever the
hash. Unbiasedness needs the hash: any other value falls into the reported bucket with probability 1 / d'.
"""

from fractions import Fraction

from treetop.oracles.olh.device import MAX_BUCKETS, HashFace, bucket_count
from treetop.oracles.protocol import Oracle


class OptimizedLocalHashing(Oracle):
    """OLH: devices hash the key of what they hold, so there is no candidate list and no dummy slot."""

    name = "olh"
    tag = 3
    listed = False
    device_face = HashFace
    counting_face = "treetop.oracles.olh.counting:HashCounting"
    max_slots = MAX_BUCKETS

    def slots_for(self, odds: Fraction) -> int:
        """Return d'."""
        return bucket_count(odds)
