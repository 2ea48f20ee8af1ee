"""Oracles by name: Treetop's own and those of other packages (entry points `treetop.oracles`), and how one is chosen.

Importing this loads no counting code, because devices import it. Entry points are looked up for foreign names only.
"""

from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from treetop.entry_points import Registry
from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.oue import OptimizedUnaryEncoding
from treetop.oracles.protocol import Oracle
from treetop.oracles.set_reports import SetLocalHashing, SetOracle, SetWalshHashing
from treetop.oracles.walsh import WalshHashing

if TYPE_CHECKING:
    from treetop.oracles.frequency_oracle import FrequencyOracle
    from treetop.privacy.epsilon import Epsilon

GROUP = "treetop.oracles"
"""Entry points of other packages: each names an Oracle, or a class of one that takes no arguments."""
AUTO = "auto"
LISTED = "listed"
"""For devices that answer published lists, so hash nothing; a task says it, a person has no need to."""
_FOR_SHORT_LISTS = KRandomizedResponse()
_FOR_LONG_LISTS: dict[str, Oracle] = {AUTO: OptimizedLocalHashing(), LISTED: OptimizedUnaryEncoding()}
_FOREIGN_TAGS = range(64, 256)


def _checked(entry: object) -> Oracle:
    oracle = entry() if isinstance(entry, type) and issubclass(entry, Oracle) else entry
    if not isinstance(oracle, Oracle):
        raise InvalidInput("oracle_entry_point", group=GROUP, entry=entry)
    if oracle.name in _FOR_LONG_LISTS or oracle.tag not in _FOREIGN_TAGS:
        raise InvalidInput(
            "oracle_name_or_tag",
            for_long_lists=", ".join(_FOR_LONG_LISTS),
            first_tag=_FOREIGN_TAGS[0],
            last_tag=_FOREIGN_TAGS[-1],
            name=oracle.name,
            tag=oracle.tag,
        )
    return oracle


_OWN: dict[str, Oracle] = {
    oracle.name: oracle
    for oracle in (_FOR_SHORT_LISTS, OptimizedUnaryEncoding(), OptimizedLocalHashing(), WalshHashing())
}
ORACLES = Registry("oracle", _OWN, GROUP, _checked)


def oracle_tagged(tag: int) -> Oracle | None:
    """Return the oracle with that number on the wire, or None; two of other packages with one number are refused."""
    for own in _OWN.values():
        if own.tag == tag:
            return own
    found = [oracle for oracle in ORACLES.values() if oracle.tag == tag]
    if len(found) > 1:
        raise InvalidInput("oracle_tags_alike", first=found[0].name, second=found[1].name, tag=tag)
    return found[0] if found else None


def oracle_names() -> tuple[str, ...]:
    """Return what `--oracle` takes."""
    return (*ORACLES, AUTO)


def find_oracle(oracle: str | Oracle) -> Oracle:
    """Return the oracle of that name, or the oracle itself."""
    if isinstance(oracle, Oracle):
        return oracle
    if oracle not in ORACLES:
        raise UnknownName("oracle", oracle, ORACLES)
    return ORACLES[oracle]


def checked_oracle(oracle: str | Oracle) -> str | Oracle:
    """Return an oracle, or a name that `oracle_named` knows; refuse another."""
    if isinstance(oracle, str) and oracle not in {AUTO, LISTED} and oracle not in ORACLES:
        raise UnknownName("oracle", oracle, oracle_names())
    return oracle


def chosen_oracle(rule: str | Oracle, odds: Fraction, slots: int) -> Oracle:
    """Return the oracle for d slots, the dummy counted: an exact comparison, the same on every device.

    `auto` is k-RR while d < 3 e^eps + 2, where its variance is the smaller one, and OLH from there on; `listed` is the
    same with OUE.
    """
    # At f = 0 and n = 1, k-RR has the variance (d - 2 + e^eps) / (e^eps - 1)^2, OLH and OUE 4 e^eps / (e^eps - 1)^2
    # (Wang et al. 2017): k-RR has less where d - 2 < 3 e^eps.
    if isinstance(rule, str) and rule in _FOR_LONG_LISTS:
        return _FOR_SHORT_LISTS if slots - 2 < 3 * odds else _FOR_LONG_LISTS[rule]
    return find_oracle(rule)


SET_FORMS: dict[str, type[SetOracle]] = {form.name: form for form in (SetLocalHashing, SetWalshHashing)}


def set_form(rule: str | Oracle, items: int) -> str | Oracle:
    """Return how users report whose reports cover up to m items: for one item, the oracle itself.

    `auto` is OLH: k-RR and OUE have no form for sets.
    """
    if items == 1 or isinstance(rule, SetOracle):
        return rule
    return form_for_sets(_FOR_LONG_LISTS[AUTO].name if rule == AUTO else str(rule), items)


def form_for_sets(name: str, items: int) -> SetOracle:
    """Return the form in which devices answer that hold sets, one item included, or refuse an oracle without one."""
    if name not in SET_FORMS:
        raise InvalidInput("oracle_without_sets", set_forms=" or ".join(SET_FORMS), name=name)
    return SET_FORMS[name](items)


def deployable_oracles(*, one_shot: bool) -> dict[str, str]:
    """Return what `--oracle` may say of a deployment and what its task then says."""
    default = {AUTO: _FOR_LONG_LISTS[AUTO].name if one_shot else LISTED}
    return {**default, **{name: name for name, oracle in ORACLES.items() if oracle.listed != one_shot}}


def task_oracles(rule: str) -> tuple[Oracle, ...]:
    """Return the oracles that the devices of a task may be asked through, or refuse a name that no task has."""
    if rule == LISTED:
        return _FOR_SHORT_LISTS, _FOR_LONG_LISTS[LISTED]
    if rule not in ORACLES:
        raise UnknownName("oracle", rule, (*ORACLES, LISTED))
    oracle_tagged(ORACLES[rule].tag)  # refuses a number that another package's oracle has as well
    return (ORACLES[rule],)


def listed_oracle(name: "str | Oracle", epsilon: "Epsilon", candidates: int) -> "FrequencyOracle[Any]":
    """Return the oracle for a list that devices know, by the rule of `oracle_named`: its dummy is always counted."""
    size = candidates + 1
    return chosen_oracle(name, epsilon.odds_below, size).counting.over_list(epsilon, size)


@lru_cache(maxsize=256)
def oracle_named(name: "str | Oracle", epsilon: "Epsilon", candidates: int) -> "FrequencyOracle[Any]":
    """Return the counting face of the oracle for a domain of that many candidates and the dummy."""
    size = candidates + 1
    return chosen_oracle(name, epsilon.odds_below, size).over(epsilon, size)


def set_oracle(name: "str | Oracle", epsilon: "Epsilon", items: int) -> "FrequencyOracle[Any]":
    """Return the oracle, walsh for `auto`, in its form for sets of up to m items; its p and q need no list."""
    return oracle_named(set_form(WalshHashing.name if name == AUTO else name, items), epsilon, 1)
