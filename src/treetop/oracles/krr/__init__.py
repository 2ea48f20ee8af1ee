"""k-ary randomized response: report the true slot with probability p, else one of the others (Eq. 2 of the paper).

Privacy: a report y has probability p if the value is y and q otherwise, and p / q = e^epsilon.
"""

from collections.abc import Sequence

from treetop.oracles.krr.device import SlotFace
from treetop.oracles.protocol import Oracle


class KRandomizedResponse(Oracle):
    """k-RR over d slots, the dummy being one of them."""

    name = "krr"
    tag = 1
    listed = True
    device_face = SlotFace
    counting_face = "treetop.oracles.krr.counting:SlotCounting"

    def audited_sizes(self, quick: bool) -> Sequence[int]:
        """Return all sizes up to what the paper asks about, and some large ones; those that take seconds if quick."""
        return (*range(2, 258), 321, 1025) if quick else (*range(2, 322), 1025, 4097)
