"""Mechanisms by name and as objects, Treetop's own and others'."""

from importlib.metadata import EntryPoint
from typing import Any, cast

import pytest
from tests.support.added_mechanism import Halves, HalvesParameters
from tests.support.federations import Federation, crowd, items, order
from tests.support.orders import changed, query_order
from tests.support.populations import zipf
from tests.support.refusals import refused

import treetop
from treetop.errors import InvalidInput, PeerViolation, UnknownName
from treetop.federation.server.planning import planned_task
from treetop.mechanisms.deployed_groups import group_weights
from treetop.mechanisms.deployment import Deployment
from treetop.mechanisms.dialogue import Member, Roster
from treetop.mechanisms.protocol import Mechanism
from treetop.mechanisms.public_facts import PublicFacts
from treetop.mechanisms.registry import MECHANISMS, mechanism_named, parameters_for, registered_mechanism
from treetop.mechanisms.tap import Tap
from treetop.mechanisms.wire.form import WireForm
from treetop.privacy.epsilon import Epsilon
from treetop.wording import Note

DATA = {"a": zipf(40_000, 30), "b": zipf(30_000, 30)}
SMALL: dict[str, Any] = {"k": 3, "epsilon": 6.0, "seed": 1, "bits": 8}


def add(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    points = {name: EntryPoint(name, value, "treetop.mechanisms")}
    monkeypatch.setitem(MECHANISMS.__dict__, "_added", points)
    monkeypatch.setattr(MECHANISMS, "_loaded", {})


@pytest.fixture
def _added(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a package declare its mechanism; the entry point is what `importlib.metadata` would find."""
    add(monkeypatch, "halves", "tests.support.added_mechanism:Halves")


def test_mechanisms_by_name_and_as_objects() -> None:
    assert mechanism_named("gtf").name == "gtf"
    with pytest.raises(UnknownName, match="did you mean 'fedpem'"):
        mechanism_named("fedpen")
    halves = Halves()
    assert mechanism_named(halves) is halves


@pytest.mark.usefixtures("_added")
def test_a_mechanism_of_another_package_is_found_by_name() -> None:
    assert isinstance(mechanism_named("halves"), Halves)
    with pytest.raises(UnknownName, match="did you mean 'halves'"):
        mechanism_named("halve")


def test_an_entry_point_that_is_no_mechanism_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, "roster", "treetop.mechanisms.dialogue:Roster")
    with refused("mechanism_entry_point", InvalidInput):
        mechanism_named("roster")


@pytest.mark.filterwarnings("ignore::treetop.errors.TreetopWarning")
def test_an_object_is_simulated_with_its_own_settings() -> None:
    answer = treetop.find(DATA, mechanism=Halves(), encoding="ids", halves_kept=5, beta=0.2, **SMALL)
    assert answer.mechanism == "halves"
    assert answer.truth is not None
    assert answer.truth.f1 == 1
    assert Note("setting_unused", mechanism="halves", setting="beta") in answer.notes
    grid = {"ks": [3], "epsilons": [6.0], "seed": 1, "bits": 8, "repeats": 2, "encoding": "ids"}
    table = treetop.evaluate(DATA, mechanisms=[Halves(), "tap"], halves_kept=5, levels=4, workers=2, **grid).table  # type: ignore[arg-type]
    assert table.column("mechanism").to_pylist() == ["halves", "tap"]
    assert table.column("levels").to_pylist() == [2, 4]
    with pytest.raises(UnknownName, match="unknown setting 'halves_keep'.*did you mean 'halves_kept'"):
        treetop.evaluate(DATA, mechanisms=[Halves()], halves_keep=5, **grid)  # type: ignore[arg-type]


@pytest.mark.usefixtures("_added")
@pytest.mark.parametrize("mode", ["one-shot", "rounds"])
def test_a_registered_one_is_deployed(mode: str) -> None:
    asked = order("halves", mode, "abc", settings={"halves_kept": "4"})
    settings = {name: value for name, value in asked.query.settings.items() if name != "levels"}
    asked = changed(asked, settings=settings)
    content = Federation.of(asked, crowd({"a": 900, "b": 800, "c": 700})).query().run().content
    assert items(content) == ["200", "77", "9"]
    assert (content["mechanism"], content["missing"], content["levels"]) == ("halves", [], 2)


@pytest.mark.usefixtures("_added")
def test_settings_of_added_mechanisms_are_known() -> None:
    assert parameters_for(Tap(), 3, 1.0, settings={"halves_kept": 3}) == parameters_for(Tap(), 3, 1.0)
    with pytest.raises(InvalidInput, match="setting 'halves_kept' expects a whole number from 2 to 100, found 1"):
        parameters_for(Tap(), 3, 1.0, settings={"halves_kept": 1})


def test_a_deployment_names_its_mechanism() -> None:
    assert query_order("fruit", ("a",), mechanism=Tap()).query.mechanism == "tap"
    with pytest.raises(InvalidInput, match="'halves' must be declared as an entry point of treetop.mechanisms"):
        registered_mechanism(Halves())


class InRoundsOnly(Halves):
    deployment = Deployment(modes=("rounds",))


def test_a_mode_that_a_mechanism_does_not_have_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    add(monkeypatch, "halves", f"{__name__}:InRoundsOnly")
    asked: Any = {"mechanism": "halves", "encoding": "ids", "settings": {"bits": 8}}
    planned_task(query_order("fruit", ("a",), mode="rounds", **asked))
    with pytest.raises(InvalidInput, match="halves can be asked in rounds mode, found one-shot"):
        query_order("fruit", ("a",), mechanism="halves")


class Undivided(Halves):
    def party(self, parameters: HalvesParameters, roster: Roster, party: Member) -> Any:
        yield None


def test_what_the_defaults_cannot_do_they_say() -> None:
    halves: Mechanism[HalvesParameters] = Halves()
    parameters = HalvesParameters(3, Epsilon(1), bits=8)
    roster = Roster((Member("a", 9), Member("b", 8)))
    facts = PublicFacts(parameters, roster, roster.members[0], halves.levels(parameters).lengths, 100)
    wire = halves.wire
    with pytest.raises(InvalidInput, match="WireForm expects encode_message"):
        wire.encode_message("a message")
    for act in (wire.encode_upload, wire.decode_upload):
        with pytest.raises(InvalidInput, match="WireForm expects encode_upload"):
            act(facts, cast(Any, None))
    with pytest.raises(PeerViolation, match="message: expected none"):
        wire.decode_message(facts, {"shared": []})
    with pytest.raises(InvalidInput, match="halves expects group_weights"):
        group_weights(Undivided(), parameters)
    assert halves.levels(parameters).max_kept is None
    assert halves.levels(parameters).max_candidates == (16, 256)
    assert halves.levels(HalvesParameters(3, Epsilon(1), bits=40)).max_candidates == (1 << 20, 1 << 22)
    with pytest.raises(InvalidInput, match="found up to 16,777,216 at level 1, 24 bits behind 1 prefixes"):
        halves.levels(HalvesParameters(3, Epsilon(1), bits=48))
    assert wire.max_message_bytes(parameters) == len("null")
    assert wire.published_prefixes(facts) is None


class Speechless(WireForm[HalvesParameters]):
    """Says that a party uploads twice, and cannot write the first one down."""

    def uploads(self, parameters: HalvesParameters) -> int:
        return 2


class SpeechlessHalves(Halves):
    wire = Speechless()


@pytest.mark.usefixtures("_added")
def test_a_mechanism_that_cannot_write_its_uploads_is_refused_when_it_is_ordered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(MECHANISMS, "_loaded", {"halves": SpeechlessHalves()})
    with pytest.raises(InvalidInput, match="halves sends 2 uploads: a deployment expects encode_upload"):
        planned_task(query_order("fruit", ("a",), mechanism="halves", settings={"bits": 8}))
