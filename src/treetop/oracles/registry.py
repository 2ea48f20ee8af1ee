"""Oracles by name: Treetop's own and those of other packages (entry points `treetop.oracles`), and how one is chosen.

Importing this loads no counting code: a device reads it, too. Entry points are looked up for names that are not ours.
"""

from fractions import Fraction
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.oue import OptimizedUnaryEncoding
from treetop.oracles.protocol import Oracle

if TYPE_CHECKING:
    from treetop.oracles.frequency_oracle import FrequencyOracle
    from treetop.privacy.epsilon import Epsilon

ENTRY_POINTS = "treetop.oracles"
AUTO = "auto"
LISTED = "listed"
"""For devices that answer published lists, so hash nothing; a task says it, a person has no need to."""
_FOR_SHORT_LISTS = KRandomizedResponse()
_FOR_LONG_LISTS: dict[str, Oracle] = {AUTO: OptimizedLocalHashing(), LISTED: OptimizedUnaryEncoding()}
_FOREIGN_TAGS = range(64, 256)
_BUILT_IN: dict[str, Oracle] = {
    oracle.name: oracle for oracle in (_FOR_SHORT_LISTS, OptimizedUnaryEncoding(), OptimizedLocalHashing())
}


@cache
def oracles() -> dict[str, Oracle]:
    """Return every registered oracle by name, Treetop's own first."""
    from importlib.metadata import entry_points  # noqa: PLC0415  loads sockets and much else

    found = dict(_BUILT_IN)
    for entry in entry_points(group=ENTRY_POINTS):
        oracle = entry.load()
        oracle = oracle() if isinstance(oracle, type) else oracle
        if not isinstance(oracle, Oracle):
            raise InvalidInput(f"entry point {entry.name!r} of {ENTRY_POINTS} must name an Oracle, found {oracle!r}")
        if oracle.name in _FOR_LONG_LISTS or oracle.tag not in _FOREIGN_TAGS:
            raise InvalidInput(
                f"an oracle of another package has a name that no rule has ({', '.join(_FOR_LONG_LISTS)}) and a tag "
                f"from {_FOREIGN_TAGS[0]} to {_FOREIGN_TAGS[-1]}, found {oracle.name!r} with tag {oracle.tag}"
            )
        taken = [known.name for known in found.values() if oracle.name == known.name or oracle.tag == known.tag]
        if taken:
            raise InvalidInput(f"oracle {oracle.name!r} (tag {oracle.tag}) has the name or tag of {taken[0]!r}")
        found[oracle.name] = oracle
    return found


def oracle_names() -> tuple[str, ...]:
    """Return what `--oracle` takes."""
    return (*oracles(), AUTO)


def find_oracle(oracle: str | Oracle) -> Oracle:
    """Return the oracle of that name, or the oracle itself."""
    if isinstance(oracle, Oracle):
        return oracle
    found = _BUILT_IN.get(oracle) or oracles().get(oracle)
    if found is None:
        raise UnknownName("oracle", oracle, oracles())
    return found


def checked_oracle_name(name: str) -> str:
    """Return a name that `oracle_named` knows, or refuse it."""
    if name not in {*oracle_names(), LISTED}:
        raise UnknownName("oracle", name, oracle_names())
    return name


def chosen_oracle(rule: str | Oracle, odds: Fraction, slots: int) -> Oracle:
    """Return the oracle for d slots, the dummy counted: an exact comparison, the same on every device.

    `auto` is k-RR while d < 3 e^eps + 2, where its variance is the smaller one, and OLH from there on; `listed` is the
    same with OUE.
    """
    if isinstance(rule, str) and rule in _FOR_LONG_LISTS:
        return _FOR_SHORT_LISTS if slots - 2 < 3 * odds else _FOR_LONG_LISTS[rule]
    return find_oracle(rule)


def deployable_oracles(*, one_shot: bool) -> dict[str, str]:
    """Return what `--oracle` may say of a deployment and what its task then says."""
    default = {AUTO: _FOR_LONG_LISTS[AUTO].name if one_shot else LISTED}
    return {**default, **{name: name for name, oracle in oracles().items() if oracle.listed != one_shot}}


def task_oracles(rule: str) -> tuple[Oracle, ...]:
    """Return the oracles that the devices of a task may be asked through, or refuse a name that no task has."""
    if rule == LISTED:
        return _FOR_SHORT_LISTS, _FOR_LONG_LISTS[LISTED]
    found = _BUILT_IN.get(rule) or oracles().get(rule)
    if found is None:
        raise UnknownName("oracle", rule, (*oracles(), LISTED))
    return (found,)


def listed_oracle(name: str, epsilon: "Epsilon", candidates: int) -> "FrequencyOracle[Any]":
    """Return the oracle for a list that devices know, by the rule of `oracle_named`: its dummy is always counted."""
    size = candidates + 1
    return chosen_oracle(name, epsilon.odds_below, size).counting.over_list(epsilon, size)


@lru_cache(maxsize=256)
def oracle_named(name: "str | Oracle", epsilon: "Epsilon", candidates: int) -> "FrequencyOracle[Any]":
    """Return the counting face of the oracle for a domain of that many candidates and the dummy."""
    size = candidates + 1
    return chosen_oracle(name, epsilon.odds_below, size).over(epsilon, size)
