"""Optimized unary encoding: one bit per slot, the true one set with 1/2, every other with 1 / (e^eps + 1).

Privacy: two values differ in two bits, and (p / q) ((1 - q) / (1 - p)) = (1 - q) / q = e^epsilon.
"""

from treetop.oracles.oue.device import BitsFace
from treetop.oracles.protocol import Oracle


class OptimizedUnaryEncoding(Oracle):
    """OUE over d positions, the dummy being one of them (section 7.3 of the paper)."""

    name = "oue"
    tag = 2
    listed = True
    device_face = BitsFace
    counting_face = "treetop.oracles.oue.counting:BitsCounting"
