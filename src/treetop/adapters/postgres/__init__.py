"""Stores in a PostgreSQL database: one process, or a coordinator and intakes, and the store outlasts its machines."""
