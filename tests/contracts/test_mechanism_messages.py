"""What every mechanism sends can be written as JSON, is read back as it was, and is refused if it cannot be true."""

import json
import pickle
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.populations import population, zipf

from treetop.datasets.federation import federation_from_mapping
from treetop.encoding.bit_strings import SHORTEST, code_array
from treetop.encoding.item_codecs import DEFAULT_HASH_KEY, HashedText
from treetop.errors import PeerViolation
from treetop.federation.documents import canonical_json
from treetop.mechanisms.deployed_groups import group_weights, task_lengths
from treetop.mechanisms.dialogue import Member, Upload
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.panorama.texts import CodeList
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.registry import FOR_A_QUERY, MECHANISMS, parameters_for
from treetop.mechanisms.wire.panorama import FirstCounts
from treetop.simulation.population import Population
from treetop.simulation.run import PartyRun, drive, run
from treetop.simulation.simulated_users import ExactUsers
from treetop.trie.global_ranking import GlobalRanking
from treetop.wording.notes import NOTES

EXAMPLES: dict[str, Mechanism[Any]] = {
    **{name: MECHANISMS[name] for name in MECHANISMS if MECHANISMS[name].deployment.modes},
    **FOR_A_QUERY,
    "whole names": Panorama(texts=False),
    "ids": Panorama(CodeList.of_codes(code_array([], SHORTEST)), texts=False),
}
NAMES = list(EXAMPLES)
EVERY = pytest.mark.parametrize("name", NAMES)
FEW: dict[str, object] = {"bits": 8, "levels": 4, "step_bits": 4, "beta": 0.25, "text_chunks": 1}


@cache
def crowd(bits: int, chunks: int = 0) -> Population:
    users = {"a": zipf(60_000, 60), "b": zipf(50_000, 60), "c": zipf(40_000, 60)}
    if not chunks:
        return population(users, bits=bits)
    return Population(federation_from_mapping(users), HashedText(bits, DEFAULT_HASH_KEY, chunks))


def crowd_of(mechanism: Mechanism[Any], parameters: Any) -> Population:
    texts = isinstance(mechanism, Panorama) and mechanism.texts
    return crowd(parameters.bits, parameters.text_chunks if texts else 0)


@dataclass
class Sent:
    """Something that was sent, how it was read, and how that is written again."""

    content: Any
    read: Callable[[Any], Any]
    written: Callable[[Any], Any]


@dataclass
class OverTheWire(PartyRun):
    """A party between whom and the server everything goes through JSON, each side with facts of its own."""

    mechanism: Mechanism[Any] = field(kw_only=True)
    at_party: PublicFacts[Any] = field(kw_only=True)
    at_server: PublicFacts[Any] = field(kw_only=True)
    sent: list[Sent] = field(default_factory=list)

    def deliver(self, message: object) -> Upload:
        content = passed_on(self.mechanism.wire.encode_message(message))
        self.at_server.messages.append(message)
        self.sent.append(self.recorded(content, self.mechanism.wire.decode_message, self.at_party, message=True))
        read = self.mechanism.wire.decode_message(self.at_party, content)
        self.at_party.messages.append(read)
        upload = super().deliver(read)
        levels: dict[int, int] = {}
        for group, size in self.respondents.sizes.items():
            levels[group.level] = levels.get(group.level, 0) + size
        if isinstance(upload, FirstCounts):  # users are in one group here, whatever kind of report they draw
            levels = dict(enumerate(upload.kinds, start=1))
        self.at_server.max_reports = (
            self.at_server.max_reports if self.mechanism.reports_names and len(self.at_server.messages) > 1 else levels
        )
        encode, decode = self.mechanism.wire.encode_upload, self.mechanism.wire.decode_upload
        if self.findings is not None:
            encode, decode = self.mechanism.wire.encode_findings, self.mechanism.wire.decode_findings  # type: ignore[assignment]
        content = passed_on(encode(self.at_party, upload))
        self.sent.append(self.recorded(content, decode, self.at_server, written=encode))
        found = decode(self.at_server, content)
        assert found.bits == upload.bits
        self.at_party.uploads.append(upload)
        self.at_server.uploads.append(found)
        return found

    def recorded(
        self, content: Any, decode: Any, facts: PublicFacts[Any], *, message: bool = False, written: Any = None
    ) -> Sent:
        then = PublicFacts(
            facts.parameters, facts.roster, facts.member, facts.lengths, facts.max_slots,
            facts.max_reports, messages=list(facts.messages), uploads=list(facts.uploads),
        )  # fmt: skip
        encode = self.mechanism.wire.encode_message if message else lambda upload: written(then, upload)
        return Sent(content, lambda changed: decode(then, changed), encode)


def passed_on(content: Any) -> Any:
    return json.loads(canonical_json(content))


def parameters_of(mechanism: Mechanism[Any], settings: Mapping[str, object] = FEW, k: int = 3) -> Parameters:
    found: Parameters = parameters_for(mechanism, k, 6.0, settings=settings)
    return found


def over_the_wire(
    mechanism: Mechanism[Any], parameters: Parameters, seed: int = 1
) -> tuple[GlobalRanking, dict[str, OverTheWire]]:
    """Run as `simulation.run` does, with the same randomness."""
    users = crowd_of(mechanism, parameters)
    roster, lengths = users.roster, task_lengths(mechanism, parameters)
    parties = {}
    for index, party in enumerate(users.parties):
        stream = np.random.default_rng(np.random.SeedSequence(seed, spawn_key=(0, index)))
        member = Member(party.name, party.users)
        facts = [PublicFacts(parameters, roster, member, lengths, 1 << 20) for _ in range(2)]
        parties[party.name] = OverTheWire(
            mechanism.party(parameters, roster, member), ExactUsers(party, stream),
            mechanism=mechanism, at_party=facts[0], at_server=facts[1],
        )  # fmt: skip
    return drive(mechanism.server(parameters, roster), parties), parties


SETTINGS: list[dict[str, object]] = [
    FEW,
    {**FEW, "score": "sum", "shared_trie": False},
    {**FEW, "pruning": False, "shared_share": 0},
    {**FEW, "extension": "fixed", "extension_factor": 4, "kept": 40, "bits": 72, "step_bits": 8, "levels": 18},
]


@EVERY
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_a_run_over_the_wire_is_the_run_without_it(name: str, settings: dict[str, object]) -> None:
    mechanism = EXAMPLES[name]
    if mechanism.reports_names:
        settings = {**settings, "bits": 8}
    parameters = parameters_of(mechanism, settings)
    ranking, parties = over_the_wire(mechanism, parameters)
    plain = run(mechanism, parameters, crowd_of(mechanism, parameters), seed=1)
    assert ranking.prefixes.tolist() == plain.ranking.prefixes.tolist()
    assert ranking.counts.tolist() == plain.ranking.counts.tolist()
    assert {party: wired.uplink_bits for party, wired in parties.items()} == dict(plain.uplink_bits)
    for wired in parties.values():
        assert len(wired.at_server.messages) == mechanism.wire.uploads(parameters)
        for sent in wired.sent:
            assert passed_on(sent.written(sent.read(sent.content))) == sent.content


@cache
def all_that_was_sent(name: str) -> list[Sent]:
    mechanism = EXAMPLES[name]
    _, parties = over_the_wire(mechanism, parameters_of(mechanism))
    return [sent for party in parties.values() for sent in party.sent]


WRONG: list[Any] = [
    None, True, -1, 0, 1, 1 << 63, 1 << 200, 0.5, -7.25, 1e308, "", "x", "0", "ff" * 40, [], {}, [[]], {"kind": 1},
]  # fmt: skip


def paths(content: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    below = content.items() if isinstance(content, dict) else enumerate(content) if isinstance(content, list) else ()
    return [before, *(path for key, value in below for path in paths(value, (*before, key)))]


def replaced(content: Any, path: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    if not path:
        return change(content)
    copy = content.copy()
    copy[path[0]] = replaced(copy[path[0]], path[1:], change)
    return copy


@st.composite
def changed_messages(draw: st.DrawFn) -> tuple[Sent, Any]:
    sent = draw(st.sampled_from(all_that_was_sent(draw(st.sampled_from(NAMES)))))
    value = draw(st.sampled_from(WRONG) | st.integers() | st.floats(allow_nan=False, allow_infinity=False))

    def change(found: Any) -> Any:
        ways = [value]
        if isinstance(found, list) and found:
            ways += [[*found, found[0]], found[1:], found[::-1]]
        if isinstance(found, dict):
            ways += [{**found, "more": 1}, dict(list(found.items())[1:])]
        if type(found) is int:
            ways += [found + 1, found - 1]
        return draw(st.sampled_from(ways))

    return sent, replaced(sent.content, draw(st.sampled_from(paths(sent.content))), change)


@given(changed_messages())
def test_what_was_changed_is_refused_or_read_as_it_is(changed: tuple[Sent, Any]) -> None:
    """Nothing is ignored, and nothing but a `PeerViolation` is raised."""
    sent, content = changed
    try:
        found = sent.read(content)
    except PeerViolation:
        return
    assert passed_on(sent.written(found)) == content


@EVERY
def test_something_was_changed_that_must_be_refused(name: str) -> None:
    """A test of the test above: each of these changes is refused wherever it is made."""
    for sent in all_that_was_sent(name):
        wrongs: list[Any] = [[], "x", {"kind": 1}]
        for wrong in wrongs:
            with pytest.raises(PeerViolation):
                sent.read(wrong)
        if isinstance(sent.content, dict):
            with pytest.raises(PeerViolation):
                sent.read({**sent.content, "more": 1})


@pytest.mark.parametrize("mechanism", EXAMPLES.values(), ids=EXAMPLES)
def test_worker_processes_can_have_it(mechanism: Mechanism[Any]) -> None:
    parameters = parameters_of(mechanism)
    again = pickle.loads(pickle.dumps((mechanism, parameters)))  # noqa: S301  our own bytes
    assert type(again[0]) is type(mechanism)
    assert again[1] == parameters
    assert again[0].levels(parameters) == mechanism.levels(parameters)


@EVERY
def test_a_deployment_takes_independent_groups_of_public_weights(name: str) -> None:
    mechanism = EXAMPLES[name]
    fixed = mechanism.deployment.settings(mechanism.parameters, {"bits": 8}, mode="rounds", hashed=False)
    assert fixed["bits"] == 8
    assert fixed.get("least_kept", 2) == 2
    parameters = parameters_of(mechanism, fixed)
    weights = group_weights(mechanism, parameters)
    assert {group.level for group in weights} == set(range(1, len(task_lengths(mechanism, parameters))))
    kept = mechanism.levels(parameters).max_kept
    assert kept is None or kept >= 2
    assert mechanism.wire.max_message_bytes(parameters) > 0
    assert mechanism.wire.max_reply_bytes(parameters, mechanism.levels(parameters)) > 0
    notes = mechanism.notes
    for said in (notes.of_parameters(parameters), notes.choices(parameters), notes.of_deployment(parameters)):
        assert all(note.code in NOTES for note in said)
