"""The party's role."""
