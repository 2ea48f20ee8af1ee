"""A federation under an encoding, or under a catalogue."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from treetop.datasets.federation import Federation
from treetop.datasets.item_catalogue import ItemCatalogue
from treetop.encoding.item_codecs import codec_named
from treetop.encoding.listed_items import ListedItems
from treetop.errors import InvalidInput
from treetop.mechanisms.known_items import KnownItems
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import DEFAULT_MECHANISM, mechanism_named
from treetop.simulation.population import Population


def populate(federation: Federation, parameters: Parameters, encoding: str | None) -> Population:
    """Encode a federation, by default in the encoding that suits its items."""
    codec = codec_named(encoding or federation.encoding, parameters.bits, parameters.hash_key)
    return Population(federation, codec)


def catalogued(
    federation: Federation,
    catalogue: ItemCatalogue | Iterable[object],
    mechanism: str | Mechanism[Any],
    encoding: str | None,
) -> tuple[KnownItems, Population]:
    """Encode a federation by a catalogue; mechanisms that search, and their encodings, have no place then."""
    known = catalogue if isinstance(catalogue, ItemCatalogue) else ItemCatalogue.of(catalogue)
    if mechanism != DEFAULT_MECHANISM or encoding is not None:
        found = (
            f"mechanism {mechanism_named(mechanism).name!r}"
            if mechanism != DEFAULT_MECHANISM
            else f"encoding {encoding!r}"
        )
        raise InvalidInput(f"with a catalogue nothing is searched or encoded, found the {found}: leave it out")
    codec = ListedItems(known.items)
    population = Population(replace(federation, notes=(*federation.notes, *known.notes)), codec)
    return KnownItems(len(known.items), codec.bits), population
