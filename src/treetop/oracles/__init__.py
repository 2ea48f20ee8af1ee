"""Frequency oracles: one private value in, one noisy report out; many reports in, frequencies out."""
