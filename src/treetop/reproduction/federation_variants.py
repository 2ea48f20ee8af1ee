"""The data of a reproduction: federations found in a folder, their variants and what is in them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

import numpy as np

from treetop.datasets.federation import Federation
from treetop.datasets.paper_federations import Provenance, provenance, read
from treetop.datasets.party_split import with_share_of_users
from treetop.datasets.synthetic import synthetic
from treetop.errors import InvalidInput
from treetop.reproduction.specification import FEDERATIONS, Variant

SUBSET_STREAM = 1_000_003
"""Separates the draw of a subset of users from the random streams of the runs."""


@dataclass(frozen=True)
class PartyFacts:
    """One row of the paper's dataset table."""

    name: str
    users: int
    items: int


@dataclass(frozen=True)
class FederationFacts:
    """Numbers of a federation that the paper's dataset table prints."""

    users: int
    parties: int
    items: int
    common: int
    """Items that every party holds."""
    by_party: tuple[PartyFacts, ...]
    """The party with most users first."""


class FederationVariants:
    """Federations by name, read once each."""

    def __init__(self, folder: Path, seed: int, names: Sequence[str] = FEDERATIONS) -> None:
        if not folder.is_dir():
            raise InvalidInput("histograms_missing", folder=folder)
        self.seed = seed
        self.provenances: dict[str, Provenance] = {name: provenance(folder, name) for name in names}
        self._whole = {name: read(found) for name, found in self.provenances.items() if found.path is not None}

    @property
    def missing(self) -> frozenset[str]:
        """Return the federations that were not found."""
        return frozenset(name for name, found in self.provenances.items() if found.missing)

    @property
    def substitutes(self) -> frozenset[str]:
        """Return the federations for which something else stands in."""
        return frozenset(name for name, found in self.provenances.items() if found.substitute)

    def federation(self, variant: Variant) -> Federation:
        """Return a federation with the share of users, or the Dirichlet draw, that a variant asks for."""
        if self.provenances[variant.federation].path is None:
            whole = synthetic(variant.draw, variant.concentration)
        else:
            whole = self._whole[variant.federation]
        stream = np.random.SeedSequence(self.seed, spawn_key=(SUBSET_STREAM, round(variant.share * 1_000_000)))
        return with_share_of_users(whole, variant.share, np.random.default_rng(stream))

    def facts(self, variant: Variant) -> FederationFacts:
        """Count users, parties and items."""
        federation = self.federation(variant)
        held = [party.items for party in federation.parties]
        common = reduce(np.intersect1d, held)
        items = np.unique(np.concatenate(held))
        parties = [PartyFacts(party.name, party.total, len(party.items)) for party in federation.parties]
        ordered = tuple(sorted(parties, key=lambda party: (-party.users, party.name)))
        return FederationFacts(federation.users, len(held), len(items), len(common), ordered)
