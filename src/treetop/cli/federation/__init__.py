"""The commands of a running federation."""
