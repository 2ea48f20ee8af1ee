"""Counting on an NVIDIA graphics card (`treetop[gpu]`)."""
