"""Carries the messages between a Treetop server and its parties over Flower; imports nothing of Treetop."""
