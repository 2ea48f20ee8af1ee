"""Ports held in memory: for simulated devices, audits and tests."""
