"""Stores in a PostgreSQL database: several workers, one truth."""
