"""Answers from a population held in memory."""
