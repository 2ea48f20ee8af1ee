"""One step of prefix-tree growth, as pure functions."""
