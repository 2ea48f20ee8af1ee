"""The cells of an experiment: every mechanism, oracle, epsilon and k asked for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

from treetop.encoding.item_codecs import ItemCodec
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.defaults import DEFAULT_EPSILON, DEFAULT_K
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import MECHANISMS, mechanism_named, parameters_for
from treetop.oracles.name_reports import counts_every_name
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import AUTO, find_oracle

LISTED = "list"
SPELT = "texts"
KNOWN = "catalogue"
VARIANTS = (LISTED, SPELT, KNOWN)
"""Of Panorama, beside what `find` would do: the word list alone, texts alone, and the limit, a known catalogue."""
BEFORE_VARIANT = ":"

Value = TypeVar("Value")


@dataclass(frozen=True)
class Cell:
    """One mechanism with its parameters, to be run many times."""

    mechanism: Mechanism[Any]
    parameters: Parameters
    variant: str = ""

    @property
    def name(self) -> str:
        """Return what is run: `canopy`, or `panorama:texts`."""
        return BEFORE_VARIANT.join(filter(None, (self.mechanism.name, self.variant)))


@dataclass(frozen=True)
class Grid:
    """All cells, in the order in which their rows are printed, and how often each is run."""

    cells: tuple[Cell, ...]
    repeats: int
    seed: int
    simulator: str = "exact"

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise InvalidInput("repeats_invalid", repeats=self.repeats)

    @property
    def runs(self) -> int:
        """Return how many runs there are in all."""
        return len(self.cells) * self.repeats


def cells_of(
    mechanisms: Sequence[str | Mechanism[Any]] = tuple(MECHANISMS),
    oracles: Sequence[str | Oracle] = (AUTO,),
    epsilons: Sequence[float] = (DEFAULT_EPSILON,),
    ks: Sequence[int] = (DEFAULT_K,),
    settings: Mapping[str, object] | None = None,
    *,
    encoding: str | ItemCodec | None = None,
) -> tuple[Cell, ...]:
    """Return the cells of a full grid, each validated; Panorama is left out where an oracle cannot count every name.

    A name may be followed by a variant: `panorama:list`, `panorama:texts`, `panorama:catalogue`.
    """
    bits = {"bits": encoding.bits} if isinstance(encoding, ItemCodec) else {}
    named = [_variant_of(mechanism) for mechanism in mechanisms]
    known = [mechanism for mechanism, _ in named]
    _distinct("mechanisms", [BEFORE_VARIANT.join(filter(None, (each.name, variant))) for each, variant in named])
    grid = product(named, _distinct("oracles", oracles), _distinct("epsilons", epsilons), _distinct("ks", ks))
    cells = tuple(
        Cell(
            mechanism,
            parameters_for(mechanism, k, epsilon, oracle, {**bits, **(settings or {})}, others=known),
            variant,
        )
        for (mechanism, variant), oracle, epsilon, k in grid
        if not mechanism.reports_names or variant == KNOWN or _counts_names(oracle)
    )
    if not cells:
        found = ", ".join(str(oracle) for oracle in oracles)
        raise InvalidInput("panorama_oracle", found=found)
    return cells


def _counts_names(oracle: str | Oracle) -> bool:
    return oracle == AUTO or counts_every_name(find_oracle(oracle))


def _variant_of(mechanism: str | Mechanism[Any]) -> tuple[Mechanism[Any], str]:
    """Return the mechanism of `panorama:texts`, and what it is to do; for an object, and without a colon, nothing."""
    if not isinstance(mechanism, str) or BEFORE_VARIANT not in mechanism:
        return mechanism_named(mechanism), ""
    name, _, variant = mechanism.partition(BEFORE_VARIANT)
    if not mechanism_named(name).reports_names:
        raise InvalidInput("variant_unknown", mechanism=mechanism)
    if variant not in VARIANTS:
        raise UnknownName("variant of panorama", variant, VARIANTS)
    return mechanism_named(name), variant


def _distinct(what: str, values: Iterable[Value]) -> tuple[Value, ...]:
    listed = tuple(values)
    if not listed or len(set(listed)) < len(listed):
        names = ", ".join(str(getattr(value, "name", value)) for value in listed)
        raise InvalidInput("grid_values", what=what, names=names)
    return listed
