"""The server's service."""
