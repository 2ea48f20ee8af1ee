"""A federation under an encoding."""

from treetop.datasets.federation import Federation
from treetop.encoding.item_codecs import codec_named
from treetop.mechanisms.parameters import Parameters
from treetop.simulation.population import Population


def populate(federation: Federation, parameters: Parameters, encoding: str | None) -> Population:
    """Encode a federation, by default in the encoding that suits its items."""
    codec = codec_named(encoding or federation.encoding, parameters.bits, parameters.hash_key)
    return Population(federation, codec)
