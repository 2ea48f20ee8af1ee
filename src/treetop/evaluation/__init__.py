"""Grids of runs: `treetop.evaluate`."""
