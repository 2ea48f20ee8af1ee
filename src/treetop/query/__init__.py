"""One question, one answer: `treetop.find`."""
