"""Counting on an NVIDIA graphics card (the extra `gpu`)."""
