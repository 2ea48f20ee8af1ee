"""The operating system: randomness and files."""
