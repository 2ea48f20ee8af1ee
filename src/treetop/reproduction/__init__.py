"""The paper's tables and figures, ours beside the paper's: `treetop reproduce`."""
