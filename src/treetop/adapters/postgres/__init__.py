"""Stores in a PostgreSQL database: one process at a time, and the store outlasts its machine."""
