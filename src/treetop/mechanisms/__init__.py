"""The algorithms, in the paper's order and symbols, as dialogues."""
