"""A mechanism and a frequency oracle that Treetop does not ship; pyproject.toml declares both as entry points."""
