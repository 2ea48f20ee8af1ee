"""Federations: the items that the users of each party hold."""
