"""Small federations that tests share."""

from collections.abc import Mapping

from treetop.datasets.federation import federation_from_mapping
from treetop.encoding.item_codecs import codec_named
from treetop.simulation.population import Population


def population(parties: Mapping[str, Mapping[str, int]], bits: int = 8, encoding: str = "ids") -> Population:
    return Population(federation_from_mapping(parties), codec_named(encoding, bits))


def zipf(users: int, items: int, shift: int = 0) -> dict[str, int]:
    """About `users` users over ids that start at `shift`, the r-th holding a share of 1 / r."""
    total = sum(1 / rank for rank in range(1, items + 1))
    return {str((37 * rank + shift) % 256): max(1, round(users / rank / total)) for rank in range(1, items + 1)}


def three_parties() -> Population:
    return population({"a": zipf(6000, 40), "b": zipf(3000, 30), "c": zipf(1000, 20)})
