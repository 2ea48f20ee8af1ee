"""The catalogue or the word list of a deployed query, from the options that `find` has."""

from pathlib import Path

from treetop.cli.screen import note
from treetop.datasets.item_catalogue import load_catalogue
from treetop.datasets.word_list import word_list_of
from treetop.encoding.normalisation import steps_named
from treetop.errors import InvalidInput
from treetop.federation.wire.item_lists import ItemList

LIST_OPTIONS = ("catalogue", "word_list", "word_list_order", "normalise")
"""What is said of them, in the order in which they are read."""


def read_lists(
    catalogue: Path | None, word_list: str | None, word_list_order: str | None, normalise: str | None
) -> dict[str, ItemList]:
    """Return the list that is given, by its option, put through the steps that devices put their item through."""
    words = word_list_of(word_list, word_list_order)
    if catalogue is not None and words is not None:
        raise InvalidInput("with a catalogue nothing is read from a word list: leave one of them out")
    known = words if catalogue is None else load_catalogue(catalogue)
    if known is None:
        return {}
    if normalise:
        known = known.normalised(steps_named(normalise))
    for said in known.notes:
        note(said.text)
    return {"word_list" if catalogue is None else "catalogue": ItemList(known.items, known.ordered, known.source)}
