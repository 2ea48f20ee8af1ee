"""Ratios in one run, ours against a peer or a limit: machines are noisy, ratios less so."""
