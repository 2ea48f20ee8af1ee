"""Answers, grids of runs and their results."""
