"""Frequency oracles: one private value in, one noisy report out; many reports in, frequencies out.

What the device's side of an oracle of another package needs is offered here, and needs the standard library alone; the
counting side extends `treetop.oracles.frequency_oracle`.
"""

from treetop.oracles.protocol import Below, DeviceFace, Oracle, Randomness, Seed, Words

__all__ = ["Below", "DeviceFace", "Oracle", "Randomness", "Seed", "Words"]
