"""A query over a federation that is known: its strategy, and the users under the codec of their items."""

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from treetop.datasets.federation import Federation
from treetop.encoding.item_codecs import ListedItems, chunks_needed
from treetop.encoding.normalisation import steps_named
from treetop.encoding.text_code import CHUNK_BITS, MAX_CHUNKS
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.query import Query
from treetop.mechanisms.registry import unread_settings
from treetop.mechanisms.strategy import ENOUGH_FIT, ItemsAhead, Strategy, choose
from treetop.simulation.population import Population
from treetop.wording import Note


@dataclass(frozen=True, eq=False)
class Prepared:
    """All that a simulated run takes, and what is to be said of it beforehand."""

    strategy: Strategy
    population: Population
    notes: tuple[Note, ...]

    @property
    def mechanism(self) -> Mechanism[Any]:
        """Return the mechanism of the strategy."""
        return self.strategy.mechanism

    @property
    def parameters(self) -> Parameters:
        """Return what the mechanism is given."""
        return self.strategy.parameters


class Populations:
    """Federations that are encoded already, so that several questions may share the work."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], Population] = {}

    def of(self, federation: Federation, steps: tuple[str, ...], strategy: Strategy) -> Population:
        """Return the federation under the codec of a strategy; a catalogue is encoded anew."""
        codec = strategy.codec
        chunks = getattr(strategy.codec, "chunks", 0)
        if isinstance(codec, ListedItems):
            return Population(federation, codec)
        key = (steps, type(codec), codec.bits, chunks, strategy.parameters.hash_key if codec.hashes else "")
        if key not in self._known:
            self._known[key] = Population(federation, codec)
        return self._known[key]


def prepared(federation: Federation, query: Query, seed: int = 0, populations: Populations | None = None) -> Prepared:
    """Choose a strategy by all items of a federation, and encode them; the seed gives the key of its hashes."""
    steps = steps_named(query.normalise)
    if steps:
        federation = federation.normalised(steps)
    key = blake2b(b"%d" % seed, digest_size=8).hexdigest()
    ahead = ItemsAhead(federation.items, federation.encoding)
    strategy = choose(query, ahead, parties=len(federation.parties), hash_key=key)
    population = (populations or Populations()).of(federation, steps, strategy)
    known = () if strategy.known is None else strategy.known.notes
    notes = (
        *population.notes,
        *known,
        *_long_text_notes(federation, strategy),
        *_mechanism_notes(strategy, query),
        *strategy.mechanism.notes.of_parties(strategy.mechanism.name, len(population.parties)),
    )
    return Prepared(strategy, population, notes)


def _mechanism_notes(strategy: Strategy, query: Query) -> tuple[Note, ...]:
    """Note the settings that a mechanism does not read, and what a reader would not expect of the others."""
    mechanism = strategy.mechanism
    return (*unread_settings(mechanism, query.settings), *mechanism.notes.of_parameters(strategy.parameters))


def _long_text_notes(federation: Federation, strategy: Strategy) -> tuple[Note, ...]:
    """Note which texts no report carries whole, and how many chunks would."""
    chunks = strategy.text_chunks
    if not chunks:
        return ()
    needed = chunks_needed(federation.items)
    too_long = int(np.count_nonzero(needed > chunks))
    if not too_long:
        return ()
    most = int(needed.max())
    room = int(np.quantile(needed, ENOUGH_FIT, method="higher"))
    if most > MAX_CHUNKS:
        return (Note("texts_too_long", items=too_long, bits=CHUNK_BITS * chunks, needed=most, most=MAX_CHUNKS),)
    return (
        Note(
            "texts_cut_short",
            items=too_long,
            bits=CHUNK_BITS * chunks,
            chunks=most,
            enough=room if chunks < room < most else None,
            share=ENOUGH_FIT,
        ),
    )
