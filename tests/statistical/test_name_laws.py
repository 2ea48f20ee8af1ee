"""Name reports: the exact simulation and the devices agree in law, in whatever order names are looked at.

A party of 300 users, names of 10 bits, two chunks. Each statistic of 3,000 runs per simulator is cut into at most ten
classes that hold about as many runs, and the two rows are compared by chi-square: a false alarm has probability 1e-9
for each. Power: a shift by 0.3 standard deviations, or a class of a tenth of all runs that becomes a fifth, is seen
with more than 99 %. Three broken simulations are seen.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2_contingency
from tests.statistical.settings import FALSE_ALARM
from tests.support.named_users import (
    ASKED,
    BITS,
    CHUNKS,
    CODES,
    LISTED,
    LISTED_CHUNKS,
    NO_NAME,
    names,
    party,
    request,
)

from treetop.mechanisms.dialogue import NameReports
from treetop.oracles.walsh.device import chunk_key
from treetop.simulation.drawn_names import DrawnNameReports
from treetop.simulation.run import simulator_named

RUNS = 3_000
LEAST = 26
"""Of some 180 reports of whole names, g = 8: three in ten names that nobody holds have so much support."""
UNHELD, HELD = 123, 900
Table = dict[str, NDArray[np.float64]]
Reporting = Callable[[int], NameReports]


def looked_at(reports: NameReports) -> dict[str, float]:
    """What Panorama asks, in its order: listed texts, what is conspicuous, names, chunks behind them, texts again."""
    texts = reports.text_support(LISTED, LISTED_CHUNKS).tolist()
    found, support = reports.above(LEAST, ASKED)
    held, unheld, other, nobody = reports.support(names(HELD, UNHELD, UNHELD + 1, NO_NAME)).tolist()
    first, second = (reports.chunk_support(names(HELD, UNHELD), chunk) for chunk in range(2))
    spelt = reports.text_support(names(HELD), CHUNKS[-1:]).tolist()[0]
    unheld_found = found[~np.isin(found, CODES)]
    return {
        "reports of whole names": reports.kinds[0], "reports of a chunk": reports.kinds[2],
        "a text that shares its name": texts[0], "the other text": texts[1], "both": texts[0] + texts[1],
        "one less the other": texts[0] - texts[1], "a text nobody holds": texts[2], "a text": texts[3],
        "a text whose name another has": texts[4], "a held name": held, "an unheld name": unheld,
        "an unheld name, if above": unheld if UNHELD in found else -1, "two unheld names": min(unheld, other),
        "none of these": nobody, "names above": len(found), "unheld names above": len(unheld_found),
        "support above": float(support.mean()), "most support above": float(support.max()),
        "smallest name above": float(unheld_found[0]), "largest gap": float(np.diff(unheld_found.astype(int)).max()),
        "a held chunk": first[0, 60], "another chunk": second[0, 61], "an unheld value": first[0, 3],
        "a value behind no name": second[1, 61], "name and chunk": held - 3 * first[0, 60], "a spelt text": spelt,
        "name and none of these": held + nobody, "texts and name": sum(texts) - held,
    }  # fmt: skip


def by_kind(reports: NameReports) -> dict[str, float]:
    """Names and chunks first, texts afterwards: then nothing may be drawn as a whole."""
    whole = reports.support(CODES[1:]).tolist()
    chunk = reports.chunk_support(names(5), 1)[0]
    texts = reports.text_support(LISTED, LISTED_CHUNKS).tolist()
    return {
        "a shared name": whole[0], "a name": whole[1], "first text's chunk": chunk[2], "second text's chunk": chunk[9],
        "one less the other": chunk[2] - chunk[9], "texts": sum(texts), "text nobody holds": texts[2],
        "text less name": texts[3] - whole[1], "another's name": texts[4],
    }  # fmt: skip


def table(reporting: Reporting, look: Callable[[NameReports], dict[str, float]]) -> Table:
    rows = [look(reporting(run)) for run in range(RUNS)]
    return {name: np.array([row[name] for row in rows], dtype=float) for name in rows[0]}


def simulated(simulator: str) -> Reporting:
    number = ["exact", "devices"].index(simulator)
    return lambda run: simulator_named(simulator)(party(), np.random.default_rng([7, number, run])).name_reports(
        request()
    )


@cache
def devices(look: Callable[[NameReports], dict[str, float]]) -> Table:
    return table(simulated("devices"), look)


def alike(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """Return the p-value of two rows of classes."""
    edges = np.unique(np.quantile(np.concatenate([one, other]), np.linspace(0, 1, 11)[1:-1]))
    counts = np.array(
        [np.bincount(edges.searchsorted(row, side="right"), minlength=len(edges) + 1) for row in (one, other)]
    )
    return float(chi2_contingency(counts[:, counts.sum(axis=0) > 0]).pvalue)


def agreement(found: Table, look: Callable[[NameReports], dict[str, float]]) -> dict[str, float]:
    return {name: alike(column, devices(look)[name]) for name, column in found.items()}


def test_no_two_chunk_keys_of_the_test_are_the_same() -> None:
    """The exact simulation takes the hash of chunks to be ideal: here it must not collide."""
    for chunk, values in enumerate(CHUNKS.T.tolist()):
        pairs = {
            *zip(CODES.tolist(), values, strict=True),
            *zip(LISTED.tolist(), LISTED_CHUNKS[:, chunk].tolist(), strict=True),
        }
        pairs |= {(HELD, 3), (UNHELD, 61)}
        keys = [chunk_key(name, chunk, value, BITS) for name, value in pairs]
        assert len({*keys, NO_NAME}) == len(pairs) + 1


@pytest.mark.parametrize("look", [looked_at, by_kind])
def test_exact_and_device_by_device_name_reports_agree(look: Callable[[NameReports], dict[str, float]]) -> None:
    found = agreement(table(simulated("exact"), look), look)
    assert min(found.values()) > FALSE_ALARM, found


class Unbound(DrawnNameReports):
    """Forgets that names which were not above the bound lie below it."""

    def _below(self, number: int) -> Any:
        return self._randomness.binomial(self.kinds[0], self._q, number)


class TextsByTheirNames(DrawnNameReports):
    """Takes whoever holds a listed name for a holder of the listed text, without a look at the chunks."""

    def __init__(self, *users: Any) -> None:
        super().__init__(*users)
        self._party = replace(self._party, chunks=np.concatenate([CHUNKS[:3], LISTED_CHUNKS[-1:], CHUNKS[-1:]]))


class WithoutThoseWhoHaveNone(DrawnNameReports):
    """Forgets the users without a code."""

    @property
    def _name_holders(self) -> Any:
        return np.append(super()._name_holders[:-1], 0)


@pytest.mark.parametrize(
    ("mutant", "seen_in"),
    [
        (Unbound, "an unheld name"),
        (TextsByTheirNames, "a text whose name another has"),
        (WithoutThoseWhoHaveNone, "none of these"),
    ],
)
def test_a_broken_simulation_is_seen(mutant: type[DrawnNameReports], seen_in: str) -> None:
    found = table(lambda run: mutant(party(), request(), np.random.default_rng([8, run])), looked_at)
    assert agreement(found, looked_at)[seen_in] < FALSE_ALARM
