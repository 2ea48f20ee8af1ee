"""Walsh hashing: s parities of random halves of a name's bits, reported by k-RR; one transform counts every name.

Privacy: the seed is independent of the value, and k-RR over the g = 2^s outcomes gives p / q = e^epsilon whatever the
map from seed to parities. Unbiasedness needs the map: any two names agree in all parities with probability 1 / g. The
law is that of OLH, and where OLH must hash every name under every seed, the support of all 2^b names is here one
Walsh-Hadamard transform away.
"""

from fractions import Fraction

from treetop.oracles.protocol import Oracle
from treetop.oracles.walsh.device import MAX_SET_PARITIES, ParityFace, parity_count


class WalshHashing(Oracle):
    """Devices hash the key of what they hold by parities, so there is no candidate list and no dummy slot."""

    name = "walsh"
    tag = 4
    listed = False
    device_face = ParityFace
    counting_face = "treetop.oracles.walsh.counting:ParityCounting"
    max_slots = 1 << MAX_SET_PARITIES
    """Of reports about sets; those about one item have 2^8 at most."""

    @property
    def slots_rule(self) -> str:
        """Return which numbers are a g."""
        return f"a power of two from 2 to {self.max_slots}"

    def has_slots(self, slots: int) -> bool:
        """Return whether a number is a g."""
        return super().has_slots(slots) and slots & (slots - 1) == 0

    def slots_for(self, odds: Fraction) -> int:
        """Return g."""
        return 1 << parity_count(odds)
