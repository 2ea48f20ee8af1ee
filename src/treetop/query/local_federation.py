"""A federation on this machine, begun from data that are known, and its answer held against the truth."""

import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from treetop.datasets.federation import Federation
from treetop.datasets.loading import federation_named
from treetop.datasets.party_split import first_parties, with_users
from treetop.federation.server.planning import planned_task
from treetop.federation.task_parameters import codec_of, parameters_of
from treetop.mechanisms.parameters import Parameters
from treetop.metrics.retrieval import f1, ncr
from treetop.privacy.epsilon import Epsilon
from treetop.query.find import checked_seed
from treetop.query.strategy import fitting_encoding
from treetop.services.local.folder import FederationFolder, LocalOptions, checked_same
from treetop.services.local.order import order_of
from treetop.simulation.population import Population

DEFAULTS = LocalOptions()


def opened_folder(directory: Path | None, wanted: Mapping[str, Any]) -> FederationFolder:
    """Return the folder of a federation: the one that is there, or a new one with these options.

    An option that is None was not told: a new federation takes the default, one that is there keeps its own.
    """
    told = {name: value for name, value in wanted.items() if value is not None}
    if directory is not None and FederationFolder.is_one(directory):
        folder = FederationFolder(directory)
        checked_same(folder.options, told)
        return folder
    drawn, options = _begun(told)
    planned_task(order_of(options, {party.name: party.total for party in drawn.parties}))
    return FederationFolder.begin(directory or Path(tempfile.mkdtemp(prefix="treetop-up-")), options, drawn)


def _begun(told: Mapping[str, Any]) -> tuple[Federation, LocalOptions]:
    """Draw the users, and settle what was left open."""
    data, seed = told.get("data", DEFAULTS.data), checked_seed(told.get("seed"))
    federation = federation_named([data])
    if "parties" in told or data == DEFAULTS.data:
        federation = first_parties(federation, told.get("parties", DEFAULTS.parties))
    drawn = with_users(federation, told.get("users", DEFAULTS.users), np.random.default_rng(seed))
    encoding = told.get("encoding") or _encoding(drawn, told)
    settled = {**told, "seed": seed, "encoding": encoding, "parties": len(drawn.parties), "users": drawn.users}
    return drawn, LocalOptions(**settled)


def _encoding(federation: Federation, told: Mapping[str, Any]) -> str:
    """Return the encoding that nearly all items fit, or hashes."""
    asked = Parameters(told.get("k", DEFAULTS.k), Epsilon(told.get("epsilon", DEFAULTS.epsilon)))
    parameters = asked.with_settings(told.get("settings", {}))
    return fitting_encoding(federation, parameters) or "hashed"


class KnownTruth:
    """What a federation on this machine should have found."""

    def __init__(self, folder: FederationFolder) -> None:
        expected = {name: home.users for name, home in folder.parties.items()}
        task = planned_task(order_of(folder.options, expected))
        self._codec, self._k, self._options = codec_of(task), parameters_of(task).k, folder.options
        self._population = Population(folder.federation(), self._codec)

    @cached_property
    def counts(self) -> dict[str, int]:
        """Return how many users really hold each item."""
        truth = self._population.truth
        return dict(zip(self._population.show(truth.codes), truth.users.tolist(), strict=True))

    def beside(self, result: Mapping[str, Any]) -> dict[str, Any]:
        """Return a result with readable items, the seed of the users, and how much of the truth it found."""
        items = [{**row, "item": self._names.get(row["item"], row["item"])} for row in result["items"]]
        codes = {name: place for place, name in enumerate(self.counts)}
        found = [codes.get(row["item"], -1 - place) for place, row in enumerate(items)]
        truth = list(range(min(self._k, len(codes))))
        score = {"f1": f1(found, truth), "ncr": ncr(found, truth)}
        notes = [*result["notes"], *self._population.notes]
        return {**result, "items": items, "seed": self._options.seed, "notes": notes, "truth": score}

    @cached_property
    def _names(self) -> dict[str, str]:
        """Return the readable name of what a codec shows of a code: another one for hashes alone."""
        shown = map(self._codec.show, map(int, self._population.truth.codes.tolist()))
        return dict(zip(shown, self.counts, strict=True))
