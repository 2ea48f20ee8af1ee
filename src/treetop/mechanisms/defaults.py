"""What is asked where nobody says otherwise: the same in Python, in every command, over HTTP and on the pages."""

DEFAULT_K = 10
DEFAULT_EPSILON = 2.0
DEFAULT_BUDGET = f"{DEFAULT_EPSILON:g}"
"""The same epsilon in decimal digits, as devices compute with it."""
