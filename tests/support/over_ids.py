"""Every mechanism over codes that are ids: Panorama then counts them as they are, through walsh."""

from typing import Any

from treetop.encoding.bit_strings import code_array
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.panorama.texts import CodeList
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import mechanism_named
from treetop.oracles.registry import AUTO

PANORAMA = Panorama(CodeList.of_codes(code_array([], 8)), texts=False)


def mechanism_over_ids(name: str) -> Mechanism[Any]:
    """Return the mechanism of that name."""
    return PANORAMA if name == PANORAMA.name else mechanism_named(name)


def oracle_of(name: str, oracle: str) -> str:
    """Return the oracle that was named, or the one that counts every name where that is needed."""
    return "walsh" if name == PANORAMA.name and oracle != AUTO else oracle
