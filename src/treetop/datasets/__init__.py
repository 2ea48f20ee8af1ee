"""Federations: which party's users hold which items."""
