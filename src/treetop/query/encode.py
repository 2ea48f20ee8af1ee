"""A federation under an encoding, or under a catalogue."""

from collections.abc import Iterable
from dataclasses import replace

from treetop.datasets.federation import Federation
from treetop.datasets.item_catalogue import ItemCatalogue
from treetop.encoding.item_codecs import codec_named
from treetop.encoding.listed_items import ListedItems
from treetop.errors import InvalidInput
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.registry import DEFAULT_MECHANISM, Mechanism, catalogue_mechanism
from treetop.simulation.population import Population


def populate(federation: Federation, parameters: Parameters, encoding: str | None) -> Population:
    """Encode a federation, by default in the encoding that suits its items."""
    codec = codec_named(encoding or federation.encoding, parameters.bits, parameters.hash_key)
    return Population(federation, codec)


def catalogued(
    federation: Federation, catalogue: ItemCatalogue | Iterable[object], mechanism: str, encoding: str | None
) -> tuple[Mechanism, Population]:
    """Encode a federation by a catalogue; mechanisms that search, and their encodings, have no place then."""
    known = catalogue if isinstance(catalogue, ItemCatalogue) else ItemCatalogue.of(catalogue)
    if mechanism != DEFAULT_MECHANISM or encoding is not None:
        found = f"mechanism {mechanism!r}" if mechanism != DEFAULT_MECHANISM else f"encoding {encoding!r}"
        raise InvalidInput(f"with a catalogue nothing is searched or encoded, found the {found}: leave it out")
    codec = ListedItems(known.items)
    population = Population(replace(federation, notes=(*federation.notes, *known.notes)), codec)
    return catalogue_mechanism(len(known.items), codec.bits), population
