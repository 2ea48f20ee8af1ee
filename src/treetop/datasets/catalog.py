"""Federations by what a user types: files, or the word `syn`."""

from collections.abc import Sequence

from treetop.datasets.federation import Federation
from treetop.datasets.histogram_file import load
from treetop.datasets.synthetic import synthetic
from treetop.errors import InvalidInput


def federation_named(words: Sequence[str]) -> Federation:
    """Return the federation of some files, or SYN for `syn`, `syn:SEED` and `syn:SEED:CONCENTRATION`."""
    built_in = [word for word in words if word == "syn" or word.startswith("syn:")]
    if not built_in:
        return load(*words)
    if len(words) > 1:
        raise InvalidInput(f"'syn' is a whole federation of its own, found it among {', '.join(words)}")
    return synthetic() if words[0] == "syn" else _drawn(words[0])


def _drawn(word: str) -> Federation:
    """Return SYN for `syn:SEED` or `syn:SEED:CONCENTRATION`."""
    seed, colon, concentration = word.removeprefix("syn:").partition(":")
    if not (seed.isascii() and seed.isdigit()):
        raise InvalidInput(f"expected syn:SEED with a whole number from 0, found {word!r}")
    if not colon:
        return synthetic(int(seed))
    try:
        return synthetic(int(seed), float(concentration))
    except ValueError:
        raise InvalidInput(f"expected syn:SEED:CONCENTRATION with a number above 0, found {word!r}") from None
