"""The command `treetop`."""
