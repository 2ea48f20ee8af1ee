"""A question over a federation that is known: its strategy, and the users under the codec of their items."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import numpy as np

from treetop.datasets.federation import Federation
from treetop.encoding.hashed_text import HashedText
from treetop.encoding.normalisation import steps_named
from treetop.encoding.text_code import CHUNK_BITS, MAX_CHUNKS
from treetop.mechanisms.panorama.mechanism import Panorama
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.registry import unread_settings
from treetop.mechanisms.strategy import ENOUGH_FIT, ItemsAhead, Question, Strategy, choose
from treetop.simulation.population import Population


@dataclass(frozen=True, eq=False)
class Prepared:
    """All that a simulated run takes, and what is to be said of it beforehand."""

    strategy: Strategy
    population: Population
    notes: tuple[str, ...]

    @property
    def mechanism(self) -> Mechanism[Any]:
        """Return the mechanism of the strategy."""
        return self.strategy.mechanism

    @property
    def parameters(self) -> Parameters:
        """Return what the mechanism is given."""
        return self.strategy.parameters


def prepared(federation: Federation, question: Question, seed: int = 0) -> Prepared:
    """Choose a strategy by all items of a federation, and encode them; the seed gives the key of its hashes."""
    steps = steps_named(question.normalise)
    if steps:
        federation = federation.normalised(steps)
    key = blake2b(b"%d" % seed, digest_size=8).hexdigest()
    ahead = ItemsAhead(federation.items, federation.encoding)
    strategy = choose(question, ahead, parties=len(federation.parties), hash_key=key)
    population = Population(replace(federation, notes=_data_notes(federation, strategy)), strategy.codec)
    mechanism, parameters = strategy.mechanism, strategy.parameters
    notes = (*population.notes, *mechanism_notes(mechanism, parameters, population, question.settings))
    return Prepared(strategy, population, notes)


def mechanism_notes(
    mechanism: Mechanism[Any], parameters: Parameters, population: Population, settings: Mapping[str, object]
) -> list[str]:
    """Say which settings a mechanism does not read, and where it has nobody to share with or the wrong oracle."""
    notes = [*unread_settings(mechanism, settings), *mechanism.notes(parameters)]
    if mechanism.shares and len(population.parties) == 1:
        notes.append(f"{mechanism.name}: there is one party only and nobody to share with")
    return notes


def _data_notes(federation: Federation, strategy: Strategy) -> tuple[str, ...]:
    """Return what is to be said of the items, of a list, and of texts that no report carries whole."""
    notes, mechanism = list(federation.notes), strategy.mechanism
    if isinstance(mechanism, Panorama) and mechanism.texts and isinstance(strategy.codec, HashedText):
        notes += _long_text_notes(federation, strategy.codec)
    if strategy.known is not None:
        notes += strategy.known.notes
    return tuple(notes)


def _long_text_notes(federation: Federation, codec: HashedText) -> tuple[str, ...]:
    """Say which texts no report carries whole, and how many chunks would."""
    needed = codec.chunks_needed(federation.items)
    too_long = int(np.count_nonzero(needed > codec.chunks))
    if not too_long:
        return ()
    most, room = int(needed.max()), int(np.quantile(needed, ENOUGH_FIT, method="higher"))
    advice = f"--set text_chunks={most} makes room for all of them"
    if most > MAX_CHUNKS:
        advice = f"the longest would take {most} chunks, {MAX_CHUNKS} is the most that there can be"
    elif room > codec.chunks and room < most:
        advice = f"--set text_chunks={room} makes room for {ENOUGH_FIT:.0%} of all items, {most} for every one"
    return (
        f"{too_long:,} items have a text code longer than {CHUNK_BITS * codec.chunks} bits: found, they show as a hash "
        f"unless a word list names them ({advice})",
    )
