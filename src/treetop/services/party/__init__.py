"""The party's service."""
