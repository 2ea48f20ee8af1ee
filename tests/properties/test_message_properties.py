"""What is written is read back exactly: the same counts to the last bit, computed again from whole numbers."""

import json
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.support.orders import query_order

from treetop.encoding.bit_strings import code_array
from treetop.federation.documents import canonical_json
from treetop.federation.level_reports import LevelReport
from treetop.federation.server.planning import planned_task
from treetop.federation.task_parameters import parameters_of
from treetop.mechanisms.canopy import Canopy, CanopyPlan
from treetop.mechanisms.dialogue import Findings, LevelTrace, Member, Roster
from treetop.mechanisms.fedpem import Fedpem
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.summed_level import SharedCandidates
from treetop.mechanisms.tap import Tap
from treetop.mechanisms.taps import Taps
from treetop.mechanisms.wire.taps import Continue
from treetop.oracles.frequency_oracle import Tally
from treetop.trie.consensus_pruning import PruningCandidates, consensus
from treetop.trie.quantised_counts import QuantisedCounts
from treetop.trie.support import CandidateDomain, Support
from treetop.trie.user_groups import Group
from treetop.wording import Note

USERS = 12_345
ROSTER = Roster((Member("a", USERS), Member("b", 99)))


def facts(mechanism: str, mode: Any = "rounds", epsilon: str = "1.5", **settings: object) -> PublicFacts[Any]:
    order = query_order("fruit", ("a", "b"), mechanism=mechanism, mode=mode, epsilon=epsilon, k=3, settings=settings)
    task = planned_task(order)
    levels = dict.fromkeys(range(1, len(task.lengths)), USERS)
    return PublicFacts(parameters_of(task), ROSTER, ROSTER.members[0], task.lengths, task.max_slots, levels)


def passed_on(content: Any) -> Any:
    return json.loads(canonical_json(content))


@st.composite
def tallies(draw: st.DrawFn, least: int = 2) -> tuple[list[int], Tally]:
    """Prefixes of 6 bits, and how many of some reports support each of them, the dummy last."""
    prefixes = sorted(draw(st.sets(st.integers(0, 23), min_size=least, max_size=24)))
    reports = draw(st.integers(1, USERS))
    support = draw(st.lists(st.integers(0, reports // 25), min_size=len(prefixes) + 1, max_size=len(prefixes) + 1))
    return prefixes, Tally(np.array(support), reports)


@given(tallies(), st.sampled_from(["0.5", "1.5", "4"]), st.sampled_from(["one-shot", "rounds"]))
def test_counts_are_the_same_to_the_last_bit(counted: tuple[list[int], Tally], epsilon: str, mode: str) -> None:
    prefixes, tally = counted
    known = facts("fedpem", mode, epsilon, bits=8, levels=1)
    known.messages.append(None)
    oracle = known.parameters.oracle_for(len(prefixes))
    tally = Tally(tally.support[: oracle.slots], tally.reports)
    ranked = Support.of(CandidateDomain(8, code_array(prefixes, 8)), oracle, tally, USERS).ranked()
    sent = Findings(ranked.positive())
    found = Fedpem().wire.decode_findings(known, passed_on(Fedpem().wire.encode_findings(known, sent)))
    for name in ("prefixes", "counts", "variances"):
        assert getattr(found.estimates, name).tolist() == getattr(sent.estimates, name).tolist()
    assert (found.heavy_hitters.reports, found.heavy_hitters.oracle.size, found.bits) == (
        tally.reports, len(prefixes) + 1, sent.bits,
    )  # fmt: skip


@given(st.integers(1, USERS), st.data(), st.sampled_from(["lower_confidence", "sum"]))
def test_quantised_counts_are_read_back(reports: int, data: st.DataObject, score: str) -> None:
    known = facts("canopy", bits=8, step_bits=4, score=score)
    known.messages.append(SharedCandidates(code_array([0], 8), 0.3))
    prefixes = CanopyPlan.of(known.parameters).candidates(code_array([0], 8), 1)
    oracle = known.parameters.oracle_for(16)
    support = data.draw(st.lists(st.integers(0, reports), min_size=oracle.slots, max_size=oracle.slots))
    counted = Support.of(prefixes, oracle, Tally(np.array(support), reports), USERS)
    sent = counted.quantised(score == "sum")
    found = Canopy().wire.decode_upload(known, passed_on(Canopy().wire.encode_upload(known, sent)))
    assert (found.values.tolist(), found.deviation, found.signed) == (sent.values.tolist(), sent.deviation, sent.signed)


def test_a_level_without_reports_is_read_back() -> None:
    known = facts("canopy", bits=8, step_bits=4)
    known.messages.append(SharedCandidates(code_array([0], 8), 0.3))
    sent = QuantisedCounts.of(np.zeros(16), np.inf)
    found = Canopy().wire.decode_upload(known, passed_on(Canopy().wire.encode_upload(known, sent)))
    assert found.missing


CODES = st.lists(st.integers(0, 3), min_size=1, max_size=4, unique=True)
LISTS = st.lists(st.integers(0, 15), min_size=6, max_size=6, unique=True)
FREQUENCIES = st.lists(st.floats(-0.5, 1.5), min_size=6, max_size=6)


@given(st.none() | CODES, LISTS, LISTS, FREQUENCIES, st.none() | st.sampled_from(["a", "b"]))
def test_the_servers_messages_of_taps_are_read_back(
    shared: list[int] | None, infrequent: list[int], frequent: list[int], frequencies: list[float], author: str | None
) -> None:
    known = facts("taps", bits=8, levels=4)
    lists = PruningCandidates(4, code_array(infrequent, 8), code_array(frequent, 8), np.array(frequencies))
    sent = Continue(None if shared is None else code_array(shared, 8), {2: lists}, author)
    known.messages.append(None)
    found = Taps().wire.decode_message(known, passed_on(Taps().wire.encode_message(sent)))
    assert found is not None
    assert (None if found.shared is None else found.shared.tolist()) == shared
    assert found.author == author
    told = found.D[2]
    assert (told.length, told.infrequent.tolist(), told.frequent.tolist()) == (4, infrequent, frequent)
    assert told.frequencies.tolist() == frequencies


@given(CODES, st.floats(0, 1))
def test_the_servers_messages_of_canopy_and_tap_are_read_back(prefixes: list[int], share: float) -> None:
    known = facts("canopy", bits=8, step_bits=2)
    sent = SharedCandidates(code_array(prefixes, 8), share)
    known.messages.append(None)
    found = Canopy().wire.decode_message(known, passed_on(Canopy().wire.encode_message(sent)))
    assert (found.prefixes.tolist(), found.share) == (prefixes, share)
    tap = facts("tap", bits=8, levels=4)
    assert Tap().wire.decode_message(tap, Tap().wire.encode_message(None)) is None
    tap.messages.append(None)
    shared = Tap().wire.decode_message(tap, passed_on(Tap().wire.encode_message(code_array(prefixes, 8))))
    assert shared is not None
    assert shared.tolist() == prefixes


def test_level_reports_are_read_back() -> None:
    task = planned_task(query_order("fruit", ("a", "b"), mechanism="taps"))
    trace = LevelTrace(3, 6, 24, 1000, "krr", 6, "3 candidates pruned")
    sent = LevelReport([trace], [Note("names_left_out", least=500)], {Group(2): 7}, 3)
    assert LevelReport.from_json(task, passed_on(sent.to_json()), 1000) == sent


@given(st.permutations(range(20)), st.permutations(range(20)), st.integers(1, 10), st.floats(0, 1))
def test_a_consensus_never_prunes_more_than_k(first: list[int], second: list[int], k: int, gamma: float) -> None:
    """Two of them prune a level: 2k candidates at most, as devices demand."""
    assert len(consensus(code_array(first, 8), code_array(second, 8), k, 2.0, gamma)) <= k
