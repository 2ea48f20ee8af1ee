"""The cells of an experiment: every mechanism, oracle, epsilon and k asked for."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

from treetop.encoding.item_codecs import ItemCodec
from treetop.errors import InvalidInput
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import MECHANISMS, mechanism_named, parameters_for
from treetop.oracles.protocol import Oracle
from treetop.oracles.registry import AUTO

Value = TypeVar("Value")


@dataclass(frozen=True)
class Cell:
    """One mechanism with its parameters, to be run many times."""

    mechanism: Mechanism[Any]
    parameters: Parameters


@dataclass(frozen=True)
class Grid:
    """All cells, in the order in which their rows are printed, and how often each is run."""

    cells: tuple[Cell, ...]
    repeats: int
    seed: int
    simulator: str = "exact"

    def __post_init__(self) -> None:
        if self.repeats < 1:
            raise InvalidInput(f"repeats must be a whole number of at least 1, found {self.repeats}")

    @property
    def runs(self) -> int:
        """Return how many runs there are in all."""
        return len(self.cells) * self.repeats


def cells_of(
    mechanisms: Sequence[str | Mechanism[Any]] = tuple(MECHANISMS),
    oracles: Sequence[str | Oracle] = (AUTO,),
    epsilons: Sequence[float] = (4.0,),
    ks: Sequence[int] = (10,),
    settings: Mapping[str, object] | None = None,
    *,
    encoding: str | ItemCodec | None = None,
) -> tuple[Cell, ...]:
    """Return the cells of a full grid, each validated."""
    bits = {"bits": encoding.bits} if isinstance(encoding, ItemCodec) else {}
    named = [mechanism_named(mechanism) for mechanism in mechanisms]
    _distinct("mechanisms", [mechanism.name for mechanism in named])
    grid = product(named, _distinct("oracles", oracles), _distinct("epsilons", epsilons), _distinct("ks", ks))
    return tuple(
        Cell(mechanism, parameters_for(mechanism, k, epsilon, oracle, {**bits, **(settings or {})}, others=named))
        for mechanism, oracle, epsilon, k in grid
    )


def _distinct(what: str, values: Iterable[Value]) -> tuple[Value, ...]:
    listed = tuple(values)
    if not listed or len(set(listed)) < len(listed):
        names = ", ".join(str(getattr(value, "name", value)) for value in listed)
        raise InvalidInput(f"{what} must name one value at least and none twice, found {names}")
    return listed
