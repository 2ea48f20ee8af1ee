"""Federations by what a user types: files, or the word `syn`."""

from collections.abc import Sequence

from treetop.datasets.federation import Federation
from treetop.datasets.histogram_file import load
from treetop.datasets.synthetic import synthetic
from treetop.errors import InvalidInput


def federation_named(words: Sequence[str]) -> Federation:
    """Return the federation of some files, or SYN for `syn` and `syn:SEED`."""
    built_in = [word for word in words if word == "syn" or word.startswith("syn:")]
    if not built_in:
        return load(*words)
    if len(words) > 1:
        raise InvalidInput(f"'syn' is a whole federation of its own, found it among {', '.join(words)}")
    seed = words[0].removeprefix("syn").removeprefix(":")
    if words[0] != "syn" and not (seed.isascii() and seed.isdigit()):
        raise InvalidInput(f"expected syn:SEED with a whole number from 0, found {words[0]!r}")
    return synthetic(int(seed)) if seed else synthetic()
