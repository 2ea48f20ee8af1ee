"""Canopy with the names of earlier weeks."""

from typing import Any

import numpy as np
import pytest
from tests.support.populations import population, zipf
from tests.support.refusals import refused

from treetop.encoding.bit_strings import code_array
from treetop.errors import InvalidInput
from treetop.mechanisms.canopy import Canopy, CanopyParameters, CanopyPlan, kept_prefixes, next_seeds
from treetop.mechanisms.dialogue import Member, Roster
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.registry import parameters_for
from treetop.mechanisms.summed_level import CountTable, SharedCandidates
from treetop.mechanisms.wire.canopy import candidates_of
from treetop.simulation.run import SIMULATORS, run
from treetop.trie.seeds import Seeds
from treetop.trie.support import CandidateDomain
from treetop.trie.user_groups import Group

SMALL: dict[str, Any] = {"bits": 8, "step_bits": 4, "kept": 2}


def parameters(seeds: str = "3=0.1,fe", **settings: object) -> CanopyParameters:
    return parameters_for(Canopy(), 2, 3.0, settings={**SMALL, "seeds": seeds, **settings})


def domain(*prefixes: int, length: int = 4) -> CandidateDomain:
    return CandidateDomain(length, code_array(prefixes, 8))


class TestPlan:
    def test_the_last_level_counts_the_seeds_too(self) -> None:
        plan = CanopyPlan.of(parameters())
        kept = code_array([0], 8)
        assert plan.candidates(kept, 1).prefixes.tolist() == list(range(16))
        assert plan.candidates(kept, 2).prefixes.tolist() == [*range(16), 0xFE]
        assert plan.max_candidates == (16, 2 * 16 + 2)
        assert Canopy().levels(parameters()).max_candidates == (16, 34)
        assert Canopy().levels(parameters("")).max_candidates == (16, 32)

    def test_the_last_level_gets_65_percent_by_whole_weights(self) -> None:
        for bits, rule in ((8, "ramp"), (12, "ramp"), (48, "ramp"), (48, "equal")):
            weights = Canopy().deployment.group_weights(parameters(bits=bits, weights=rule))
            last = weights[max(weights, key=lambda group: group.level)]
            assert 20 * last == 13 * sum(weights.values())
        assert Canopy().deployment.group_weights(parameters("", weights="ramp")) == {Group(1): 1, Group(2): 4}

    def test_one_level_needs_no_weights(self) -> None:
        assert Canopy().deployment.group_weights(parameters(step_bits=8)) == {Group(1): 28}

    def test_seeds_are_codes(self) -> None:
        with refused("seed_too_long", InvalidInput, bits=8, codes=511):
            parameters("1ff")
        with refused("setting_invalid", InvalidInput, name="seeds", value="5,3"):
            parameters("5,3")

    def test_devices_in_rounds_would_refuse_them(self) -> None:
        with refused("seeds_in_rounds", InvalidInput):
            Canopy().deployment.settings(CanopyParameters, {"seeds": "3"}, mode="rounds", hashed=False)
        fixed = Canopy().deployment.settings(CanopyParameters, {"seeds": "3"}, mode="one-shot", hashed=False)
        assert fixed["seeds"] == "3"
        assert "seeds" not in Canopy().deployment.settings(CanopyParameters, {}, mode="rounds", hashed=False)

    def test_both_sides_know_how_long_the_last_list_is(self) -> None:
        member = Member("a", 100)
        facts = PublicFacts(parameters(), Roster.of([member]), member, (0, 4, 8), 100)
        facts.messages += [SharedCandidates(code_array([0], 8)), SharedCandidates(code_array([1, 0], 8))]
        assert candidates_of(facts, 1) == 16
        assert candidates_of(facts, 2) == 33


class TestResiduals:
    """One party of 1,000 users whose counts have a deviation of 1."""

    def level(self, *counts: float) -> CountTable:
        return CountTable(np.array(counts)[:, None], np.array([1.0]), (Member("north", 1000),))

    def kept(self, level: CountTable, prefixes: CandidateDomain, seeds: str, **settings: object) -> list[int]:
        asked = parameters(seeds, **settings)
        kept: list[int] = kept_prefixes(asked, CanopyPlan.of(asked), prefixes, level)[0].tolist()
        return kept

    def test_what_is_left_after_known_users_decides(self) -> None:
        level, prefixes = self.level(500, 300, 120, 80), domain(0, 1, 2, 3)
        assert self.kept(level, prefixes, "") == [0, 1]
        assert self.kept(level, prefixes, "5=0.5,1f=0.3") == [2, 3]
        assert self.kept(level, prefixes, "5=0.45,1f=0.3") == [2, 3]
        assert self.kept(level, prefixes, "5=0.1,1f=0.3") == [0, 2]

    def test_known_users_need_not_be_covered(self) -> None:
        level, prefixes = self.level(700, 299, 1, 0), domain(0, 1, 2, 3)
        assert self.kept(level, prefixes, "") == [0, 1]
        assert self.kept(level, prefixes, "5=0.7") == [1]
        asked = parameters("5=0.7")
        _, uncovered = kept_prefixes(asked, CanopyPlan.of(asked), prefixes, level)
        assert uncovered == pytest.approx(1 - (299 - CanopyPlan.of(asked).zeta) / 300)

    def test_more_known_users_than_there_are_leave_one_to_be_covered(self) -> None:
        assert self.kept(self.level(700, 290, 5, 5), domain(0, 1, 2, 3), "5=0.9,1f=0.9") == [2]

    def test_users_with_sets_are_subtracted_too(self) -> None:
        level, prefixes = self.level(500, 300, 120, 80), domain(0, 1, 2, 3)
        assert self.kept(level, prefixes, "5=0.5,1f=0.3", items_per_user=4) == [2, 3]


class TestNextSeeds:
    def test_known_are_counts_that_noise_would_not_show(self) -> None:
        asked = parameters("")
        parties = (Member("north", 600), Member("south", 400))
        level = CountTable(np.array([[400.0, 200.0], [1.0, 0.0], [0.0, 0.0]]), np.array([1.0, 1.0]), parties)
        seeds = next_seeds(asked, CanopyPlan.of(asked), domain(1, 2, 3, length=8), level)
        assert seeds == Seeds((1, 2, 3), (0.6, 0.0, 0.0))

    def test_there_are_none_where_nobody_reported(self) -> None:
        asked = parameters("")
        empty = CountTable(np.empty((3, 0)), np.empty(0), ())
        assert next_seeds(asked, CanopyPlan.of(asked), domain(1, 2, 3, length=8), empty) == Seeds()


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_a_name_that_the_search_loses_is_counted_again(simulator: str) -> None:
    crowd = population({"a": {"1": 9000, "2": 8000, "200": 2500}, "b": {"1": 5000, "2": 4000, "200": 1500}})
    plain = parameters_for(Canopy(), 3, 3.0, settings={**SMALL, "kept": 1})
    seeded = parameters_for(Canopy(), 3, 3.0, settings={**SMALL, "kept": 1, "seeds": "1=0.4,2=0.4,c8"})
    lost, found = (run(Canopy(), each, crowd, seed=1, simulator=simulator) for each in (plain, seeded))
    assert 200 not in lost.ranking.prefixes
    assert set(found.ranking.prefixes.tolist()) == {1, 2, 200}
    assert set(found.ranking.seeds.codes) >= {1, 2, 200}
    trace = found.traces["a"][-1]
    assert trace.reports == pytest.approx(0.65 * 19_500, rel=0.05)


def test_the_seeds_of_a_week_are_those_of_the_next() -> None:
    settings = {"bits": 16, "step_bits": 8, "kept": 2}
    crowd = population({"a": zipf(60_000, 40)}, bits=16)
    first = run(Canopy(), parameters_for(Canopy(), 3, 4.0, settings=settings), crowd, seed=3).ranking.seeds
    known = {code for code, share in zip(first.codes, first.shares, strict=True) if share}
    assert known >= set(crowd.truth.codes[:3].tolist())
    again = parameters_for(Canopy(), 3, 4.0, settings={**settings, "seeds": str(first)})
    second = run(Canopy(), again, crowd, seed=4)
    assert known <= set(second.ranking.seeds.codes)
