"""Whatever is accepted when a query is ordered can be served: lists that can be counted, messages that are taken."""

from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from tests.support.federations import Federation, FixedSigner, crowd, order
from tests.support.orders import query_order
from tests.support.populations import population, zipf

import treetop
from treetop.adapters.memory.ports import MemoryChannel
from treetop.encoding.item_codecs import codec_named
from treetop.errors import InvalidInput
from treetop.federation.protocol import MAX_MESSAGE_BYTES, MAX_REPLY_BYTES, ServerMessage
from treetop.federation.server import planning
from treetop.federation.server.planning import QueryOrder, longest_reply, planned_task
from treetop.federation.task_parameters import parameters_of
from treetop.federation.wire.signed_documents import Publication, PublishedList, Question, signed
from treetop.mechanisms import levels as mechanism_levels
from treetop.mechanisms.registry import OWN, mechanism_named
from treetop.query.local_federation import opened_folder
from treetop.services.party.settings import Limits
from treetop.simulation.population import Population
from treetop.simulation.run import run
from treetop.trie import support
from treetop.trie.user_groups import Group

BOTH = pytest.mark.parametrize("mode", ["one-shot", "rounds"])
UNSERVABLE = {"kept": "1048576", "step_bits": "16"}
TOLD = "lists of at most 4,194,304 candidates are counted, found up to 4,294,967,296 at level 2"


@BOTH
def test_lists_that_nobody_can_count_are_refused_when_ordered(mode: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=TOLD):
        planned_task(query_order("drinks", ("north",), mechanism="canopy", mode=mode, settings=UNSERVABLE))
    with pytest.raises(InvalidInput, match=TOLD):
        opened_folder(tmp_path / "up", {"mechanism": "canopy", "mode": mode, "settings": UNSERVABLE, "users": 1000})
    assert not (tmp_path / "up").exists()


def test_a_simulation_refuses_them_before_anybody_is_asked() -> None:
    with pytest.raises(InvalidInput, match="lists of at most 4,194,304 candidates are counted, found up to"):
        treetop.find({"a": zipf(900, 20)}, k=3, strategy="trie", kept=1 << 20, step_bits=16)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mechanism": "fedpem", "settings": {"levels": 1}}, "281,474,976,710,656 at level 1"),
        ({"mechanism": "gtf", "settings": {"levels": 3}, "k": 65}, "4,259,840 at level 2, 16 bits behind 65 prefixes"),
        ({"mechanism": "taps", "settings": {"levels": 3}, "k": 33}, "4,325,376 at level 2"),
        ({"mode": "rounds", "settings": {"kept": 1024}}, "in signed lists of 262,144 candidates: keep fewer"),
        ({"mechanism": "canopy", "settings": {"kept": 1 << 20, "step_bits": 1}}, "in what canopy sends: "),
        ({"mechanism": "taps", "k": 10_000}, "in what taps sends: "),
        ({"parties": tuple(f"branch {place:0100d}" for place in range(40_000))}, "in what panorama sends: "),
        ({"mechanism": "gtf", "settings": {"bits": 256, "levels": 64}, "k": 1 << 18}, "a server takes replies of"),
    ],
)
def test_other_queries_that_cannot_be_served_are_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        planned_task(query_order(**{"name": "fruit", "parties": ("a", "b"), "encoding": "ids", **changed}))


def test_the_bounds_are_those_of_the_services() -> None:
    assert Limits().most_body_bytes == MAX_MESSAGE_BYTES
    assert MAX_REPLY_BYTES == 1 << 28


LIMIT, MESSAGE = 2048, 12_000
"""Lowered limits, so that many settings come close to them and few take long."""


def lowered() -> ExitStack:
    stack = ExitStack()
    for room in (mechanism_levels, support):
        stack.enter_context(patch.object(room, "MAX_CANDIDATES", LIMIT))
    stack.enter_context(patch.object(planning, "MAX_MESSAGE_BYTES", MESSAGE))
    return stack


@st.composite
def orders(draw: st.DrawFn) -> QueryOrder:
    """Draw orders of mechanisms that grow lists of candidates; Panorama has one list, which is given."""
    mechanism = draw(st.sampled_from(sorted(name for name in OWN if "rounds" in OWN[name].deployment.modes)))
    wanted: dict[str, object] = {"bits": draw(st.integers(8, 24)), "least_kept": draw(st.sampled_from([1, 2, 40, 600]))}
    if mechanism == "canopy":
        wanted |= {"step_bits": draw(st.integers(1, 12)), "kept": draw(st.sampled_from([0, 1, 10, 100, 1000]))}
        wanted |= {"score": draw(st.sampled_from(["sum", "lower_confidence"]))}
    else:
        wanted["levels"] = draw(st.integers(1, 8))
    if mechanism in {"fedpem", "tap", "taps"}:
        wanted["extension_factor"] = draw(st.sampled_from([0.5, 1.0, 3.0, 30.0]))
    if mechanism in {"tap", "taps"}:
        wanted["extension"] = draw(st.sampled_from(["floor", "printed", "worst_case", "fixed"]))
    mode: Any = draw(st.sampled_from(["one-shot", "rounds"]))
    more = {"k": draw(st.sampled_from([1, 2, 7, 30, 100])), "epsilon": draw(st.sampled_from(["0.5", "4"]))}
    return order(mechanism, mode, "ab", settings=wanted, **more)


@cache
def held() -> Population:
    return population({"a": {str(item): 3 for item in range(150)}, "b": {str(item): 2 for item in range(120)}})


@given(orders())
@settings(max_examples=150, deadline=None)
def test_whatever_is_accepted_can_be_run(ordered: QueryOrder) -> None:
    """Lists never exceed what was foreseen, in the simulator that has no limits of a deployment."""
    with lowered():
        try:
            task = planned_task(ordered)
        except InvalidInput:
            assume(False)
        mechanism, parameters = mechanism_named(task.mechanism), parameters_of(task)
        crowded = Population(held().federation, codec_named("ids", task.bits))
        found = run(mechanism, parameters, crowded, seed=1)
    foreseen = mechanism.levels(parameters).max_candidates
    for traces in found.traces.values():
        assert all(trace.candidates <= foreseen[trace.level - 1] <= LIMIT for trace in traces)
    assert task.one_shot or task.max_slots == max(foreseen) + 1


class WatchedChannel(MemoryChannel):
    """Remembers the longest message that a party was told, and its longest reply."""

    longest = longest_reply = 0

    def tell(self, task: bytes, number: int, message: bytes) -> None:
        self.longest = max(self.longest, len(message))
        super().tell(task, number, message)

    def outcome(self, task: bytes, number: int) -> bytes | None:
        found = super().outcome(task, number)
        self.longest_reply = max(self.longest_reply, len(found or b""))
        return found


@given(orders())
@settings(max_examples=40, deadline=None)
def test_whatever_is_accepted_can_be_told(ordered: QueryOrder) -> None:
    """A whole federation in memory: no message is longer than a party takes, no reply longer than the server does."""
    with lowered():
        asked = Federation.of(ordered, crowd({"a": 300, "b": 200}))
        watched = {name: WatchedChannel(name, party) for name, party in asked.parties.items()}
        asked.channels = dict(watched)
        try:
            query = asked.query()
        except InvalidInput:
            assume(False)
        query.run()
    assert all(0 < channel.longest <= MESSAGE for channel in watched.values())
    with patch.object(planning, "REPLY_AROUND_BYTES", MESSAGE):
        most = longest_reply(query.task)
    assert all(0 < channel.longest_reply <= most for channel in watched.values())


@pytest.mark.parametrize(
    ("changed", "most"),
    [
        ({}, 10 << 20), ({"mechanism": "taps", "mode": "rounds", "encoding": "ids"}, 5 << 20),
        ({"mechanism": "canopy", "encoding": "ids"}, 6 << 20),
        ({"settings": {"expected_items": 1_000_000}}, 27 << 20),
    ],
)  # fmt: skip
def test_of_an_ordinary_query_a_server_takes_no_replies_of_256_mib(changed: dict[str, Any], most: int) -> None:
    """Eight of them are in memory together, and a party can send what it likes."""
    task = planned_task(query_order(**{"name": "fruit", "parties": ("a", "b"), **changed}))
    assert MAX_MESSAGE_BYTES < longest_reply(task) < most


@pytest.mark.parametrize(("bits", "kept", "step"), [(48, 512, 8), (256, 64, 8), (24, 4000, 4), (48, 2, 16)])
def test_the_longest_signed_list_is_as_long_as_foreseen(bits: int, kept: int, step: int) -> None:
    """The largest prefixes there are, written into a message: a little shorter than the bound, which is not far off."""
    task = planned_task(order("canopy", "rounds", ["north"], settings={"bits": bits, "step_bits": 8}))
    above = tuple((1 << bits - step) - kept + place for place in range(kept))
    prefixes = tuple(prefix << step | ending for prefix in above for ending in range(1 << step))
    listed = PublishedList("north", Question(task.digest, Group(1), bits, prefixes), Publication(bits - step, above))
    document = signed("list", listed.to_bytes(task), FixedSigner()).decode("ascii")
    found = len(ServerMessage("publish", {"document": document}).to_bytes())
    with patch.object(planning, "MAX_MESSAGE_BYTES", found - 1), pytest.raises(InvalidInput, match="signed lists"):
        check(bits, kept, step)
    with patch.object(planning, "MAX_MESSAGE_BYTES", round(1.2 * found) + 5000):
        check(bits, kept, step)


def check(bits: int, kept: int, step: int) -> None:
    """Plan a query whose last list is that long."""
    levels: dict[str, object] = {"bits": bits, "step_bits": step, "kept": kept, "least_kept": min(kept, 2)}
    planned_task(order("canopy", "rounds", ["north"], settings=levels, k=1))
