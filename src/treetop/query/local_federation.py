"""A federation on this machine: begun from data that are known, its answer scored against the ground truth."""

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from treetop.datasets.federation import Federation
from treetop.datasets.loading import federation_named
from treetop.datasets.party_split import first_parties, with_users
from treetop.encoding.item_codecs import Hashed
from treetop.federation.server.planning import planned_task
from treetop.federation.task_codec import codec_of
from treetop.mechanisms.registry import mechanism_named, parameters_for
from treetop.mechanisms.strategy import ItemsAhead
from treetop.metrics.retrieval import f1, ncr
from treetop.query.answer import Answer, Truth
from treetop.query.find import checked_seed
from treetop.services.local.folder import FederationFolder, LocalOptions, checked_same
from treetop.services.local.run import local_notes, order_of
from treetop.simulation.population import Population

DEFAULTS = LocalOptions()


def opened_folder(directory: Path | None, wanted: Mapping[str, Any]) -> FederationFolder:
    """Return the folder of a federation: the one that is there, or a new one with these options.

    An option that is None was not given: a new federation takes the default, one that is there keeps its own.
    """
    given = {name: value for name, value in wanted.items() if value is not None}
    if directory is not None and FederationFolder.is_one(directory):
        folder = FederationFolder(directory)
        checked_same(folder.options, given)
        return folder
    drawn, options = _begun(given)
    planned_task(order_of(options, {party.name: party.total for party in drawn.parties})).check_texts()
    return FederationFolder.begin(directory or Path(tempfile.mkdtemp(prefix="treetop-up-")), options, drawn)


def _begun(given: Mapping[str, Any]) -> tuple[Federation, LocalOptions]:
    """Draw the users, and settle what was left open."""
    data, seed = given.get("data", DEFAULTS.data), checked_seed(given.get("seed"))
    federation = federation_named([data])
    if "parties" in given or data == DEFAULTS.data:
        federation = first_parties(federation, given.get("parties", DEFAULTS.parties))
    drawn = with_users(federation, given.get("users", DEFAULTS.users), np.random.default_rng(seed))
    mechanism = mechanism_named(given.get("mechanism", DEFAULTS.mechanism))
    k, epsilon = given.get("k", DEFAULTS.k), given.get("epsilon", DEFAULTS.epsilon)
    asked = parameters_for(mechanism, k, epsilon, settings=given.get("settings", {}))
    encoding = given.get("encoding") or ItemsAhead(drawn.items, drawn.encoding).trie_encoding(asked.bits) or Hashed.name
    users = given.get("users", drawn.users)
    settled = {**given, "seed": seed, "encoding": encoding, "parties": len(drawn.parties), "users": users}
    return drawn, LocalOptions(**settled)


class GroundTruth:
    """What a federation on this machine should find."""

    def __init__(self, folder: FederationFolder) -> None:
        expected = {name: home.users for name, home in folder.parties.items()}
        self._options, codec = folder.options, codec_of(planned_task(order_of(folder.options, expected)))
        self.population = Population(folder.federation(), codec)

    def scored(self, answer: Answer) -> Answer:
        """Return an answer with readable items beside their true counts, scored, and with the seed of its users."""
        population, codes = self.population, self.population.truth.codes
        names = population.show(codes)  # the most popular one first
        readable = dict(zip((population.codec.show(int(code)) for code in codes.tolist()), names, strict=True))
        counts = dict(zip(names, population.truth.users.tolist(), strict=True))
        shown = [readable.get(row.item, row.item) for row in answer.items]
        items = tuple(
            replace(row, item=name, true_count=counts.get(name, 0))
            for row, name in zip(answer.items, shown, strict=True)
        )
        rank = {name: index for index, name in enumerate(names)}
        found = [rank.get(name, -1 - index) for index, name in enumerate(shown)]
        best = range(min(answer.k, len(names)))
        return replace(
            answer,
            items=items,
            seed=self._options.seed,
            notes=(*answer.notes, *population.notes, *local_notes(self._options, population.roster.all_users)),
            truth=Truth(f1(found, best), ncr(found, best)),
        )
