"""Exact laws: every outcome enumerated, from the code that ships."""
