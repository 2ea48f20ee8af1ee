"""Oracles by name."""

from functools import lru_cache
from typing import Any

from treetop.errors import UnknownName
from treetop.oracles.frequency_oracle import FrequencyOracle
from treetop.oracles.k_randomized_response import KRandomizedResponse
from treetop.oracles.optimized_local_hashing import ListedLocalHashing, OptimizedLocalHashing
from treetop.oracles.optimized_unary_encoding import OptimizedUnaryEncoding
from treetop.privacy.epsilon import Epsilon

AUTO = "auto"
LISTED = "listed"
"""For devices that answer published lists, so hash nothing; a task says it, a person has no need to."""
ORACLES: dict[str, type[FrequencyOracle[Any]]] = {
    oracle.name: oracle for oracle in (KRandomizedResponse, OptimizedUnaryEncoding, OptimizedLocalHashing)
}
ORACLE_NAMES = (*ORACLES, AUTO)
_FOR_LONG_LISTS = {AUTO: OptimizedLocalHashing.name, LISTED: OptimizedUnaryEncoding.name}


def checked_oracle_name(name: str) -> str:
    """Return a name that `oracle_named` knows, or refuse it."""
    if name not in ORACLE_NAMES and name != LISTED:
        raise UnknownName("oracle", name, ORACLE_NAMES)
    return name


def listed_oracle(name: str, epsilon: Epsilon, candidates: int) -> FrequencyOracle[Any]:
    """Return the oracle for a list that devices know, by the rule of `oracle_named`: its dummy is always counted."""
    oracle = oracle_named(name, epsilon, candidates)
    return ListedLocalHashing(epsilon, oracle.size) if oracle.name == OptimizedLocalHashing.name else oracle


@lru_cache(maxsize=256)
def oracle_named(name: str, epsilon: Epsilon, candidates: int) -> FrequencyOracle[Any]:
    """Return the oracle for a domain of that many candidates and the dummy.

    `auto` is k-RR while d < 3 e^eps + 2, where its variance is the smaller one, and OLH from there on; `listed` is the
    same with OUE.
    """
    size = candidates + 1
    if name in _FOR_LONG_LISTS:
        name = KRandomizedResponse.name if size < 3 * epsilon.odds + 2 else _FOR_LONG_LISTS[name]
    return ORACLES[checked_oracle_name(name)](epsilon, size)
