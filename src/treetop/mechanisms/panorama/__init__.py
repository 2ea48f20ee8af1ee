"""Panorama: one report of each user counts for every name there can be, and nothing is searched."""
