"""The roles with threads, clocks and sockets plugged in."""
