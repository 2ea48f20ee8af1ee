"""T5: a party whose devices are in other groups than the weights give is flagged; an honest one is not."""

import numpy as np
import pytest
from scipy import stats
from tests.support.federations import Federation, crowd, order
from tests.support.orders import query_order

from treetop.adapters.memory.report_collection import MemoryReportCollection
from treetop.errors import PeerViolation
from treetop.federation.level_reports import (
    FLAGGED,
    cube_root_score,
    devices_of_levels,
    is_biased,
    read_groups,
    weights_at,
    written_groups,
)
from treetop.federation.server.planning import planned_task
from treetop.federation.service_ports import ReportCollection
from treetop.trie.user_groups import Group, Role
from treetop.wording import Note

TASK = planned_task(query_order("fruit", ("a", "b"), mechanism="taps", encoding="ids"))


@pytest.mark.parametrize("degrees", [2, 3, 5, 23, 50, 200, 700])
def test_the_approximation_is_close_to_the_chi_square_law(degrees: int) -> None:
    """With few degrees it is late rather than early: an honest party is never flagged more often than promised."""
    assert FLAGGED - 0.5 < cube_root_score(stats.chi2.isf(1e-9, degrees), degrees) < FLAGGED + 0.01
    assert cube_root_score(stats.chi2.isf(0.5, degrees), degrees) == pytest.approx(0, abs=0.05)


def test_honest_draws_are_not_flagged_and_a_shifted_level_is() -> None:
    random, weights = np.random.default_rng(4), weights_at(TASK, "b")
    shares = np.array(list(weights.values())) / sum(weights.values())
    for _ in range(200):
        drawn = random.multinomial(20_000, shares)
        assert not is_biased(dict(zip(weights, drawn.tolist(), strict=True)), weights)
    drawn[0] += 250  # a party that moves one device in eighty to level 1
    assert is_biased(dict(zip(weights, drawn.tolist(), strict=True)), weights)


def test_few_devices_tell_nothing() -> None:
    assert not is_biased({Group(1): 40}, weights_at(TASK, "b"))
    assert not is_biased({Group(1): 4000}, {Group(1): 1})


def test_in_rounds_the_first_party_has_no_validation_sets() -> None:
    rounds = planned_task(query_order("fruit", ("a", "b"), mechanism="taps", mode="rounds"))
    assert {group.role for group in weights_at(rounds, "a")} == {Role.ESTIMATE}
    assert weights_at(rounds, "a")[Group(7)] == 30
    assert weights_at(rounds, "b")[Group(7)] == 24
    assert weights_at(TASK, "a")[Group(7)] == 24


def test_groups_are_written_and_read() -> None:
    groups = {Group(1): 5, Group(7, Role.VALIDATE_FREQUENT): 2, Group(7): 3}
    assert read_groups(TASK, written_groups(groups), 10) == groups
    assert devices_of_levels(groups) == {1: 5, 7: 5}
    with pytest.raises(PeerViolation, match="devices of all groups"):
        read_groups(TASK, written_groups(groups), 9)


class BiasedDevices(MemoryReportCollection):
    """A party that puts its devices where it wants them."""

    def _draw_groups(self) -> None:
        self._members = {entry.group: np.empty(0, dtype=np.int64) for entry in self._task.groups}
        half = len(self._codes) // 2
        self._members[Group(1)] = np.arange(half)
        for level in (2, 3, 4):
            self._members[Group(level)] = half + np.flatnonzero(np.arange(half) % 3 == level - 2)


def test_a_biased_party_is_named_in_the_result() -> None:
    asked = Federation.of(order("tap", "one-shot", "ab"), crowd({"a": 900, "b": 800}))

    def dressed(work: ReportCollection) -> ReportCollection:
        work.__class__ = BiasedDevices
        return work

    asked.parties["b"].dressed = dressed
    notes = asked.query().run().content["notes"]
    assert notes == [Note("at_party", party="b", note=Note("groups_biased")).to_json()]
