"""The shipped device and the shipped fleet, driven end to end through a party that records everything."""
