"""Many simulated devices of one party."""
