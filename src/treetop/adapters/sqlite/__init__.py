"""Stores in SQLite files: the embedded default."""
