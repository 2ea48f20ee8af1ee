"""The server's role."""
