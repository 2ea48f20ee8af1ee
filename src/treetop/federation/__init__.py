"""Answers from real devices; no sockets, no files, standard library only."""
