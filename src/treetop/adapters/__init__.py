"""The outside world, one room for each technology."""
