"""The device's role: standard library only."""
