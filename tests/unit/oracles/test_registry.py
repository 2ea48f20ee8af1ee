"""Oracles by name, oracles of other packages, and how one is chosen."""

import importlib.metadata
import math
import pickle
from fractions import Fraction
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from tests.support.refusals import refused

from treetop.entry_points import Registry
from treetop.errors import InvalidInput, UnknownName
from treetop.federation.wire.report_batches import Envelope, decoded_batch, encoded_batch
from treetop.oracles import registry
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.registry import (
    ORACLES,
    checked_oracle,
    chosen_oracle,
    deployable_oracles,
    find_oracle,
    oracle_named,
    oracle_names,
    oracle_tagged,
    task_oracles,
)
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.trie.user_groups import Group


class Foreign(KRandomizedResponse):
    """k-RR as another package would add it."""

    name, tag = "foreign", 64


class SameName(Foreign):
    name, tag = "olh", 65


class SameTag(Foreign):
    name, tag = "another", 64


class NameOfARule(Foreign):
    name, tag = "auto", 66


class TagOfOurs(Foreign):
    name, tag = "another", 63


FOREIGN = Foreign()
NO_ORACLE = "krr"


@pytest.fixture
def added(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let other packages add entry points, each named like its oracle."""

    def add(**values: str) -> None:
        points = [EntryPoint(name, f"{__name__}:{value}", registry.GROUP) for name, value in values.items()]
        monkeypatch.setattr(importlib.metadata, "entry_points", lambda group: points)
        fresh = Registry("oracle", registry._OWN, registry.GROUP, registry._checked)
        monkeypatch.setattr(registry, "ORACLES", fresh)

    return add


def test_our_own_oracles_have_names_and_tags_of_their_own() -> None:
    assert {name: oracle.tag for name, oracle in ORACLES.items()} == {"krr": 1, "oue": 2, "olh": 3, "walsh": 4}
    assert oracle_names() == ("krr", "oue", "olh", "walsh", "auto")
    assert [oracle_tagged(tag) for tag in (1, 2, 3, 4)] == list(ORACLES.values())
    assert oracle_tagged(5) is None


@pytest.mark.parametrize("value", ["Foreign", "FOREIGN"])
def test_another_package_adds_an_oracle(added: Any, value: str) -> None:
    """A class or an object; from then on it has a name, a tag on the wire and a place in every list."""
    added(foreign=value)
    found = find_oracle("foreign")
    assert found == Foreign()
    assert oracle_names() == ("krr", "oue", "olh", "walsh", "foreign", "auto")
    assert "foreign" in deployable_oracles(one_shot=False)
    assert task_oracles("foreign") == (found,)
    assert oracle_named("foreign", Epsilon(1), 4).p == oracle_named("krr", Epsilon(1), 4).p
    envelope = Envelope(bytes(32), Group(1), b"d" * 32, found, 5)
    assert decoded_batch(encoded_batch(envelope, [4])).envelope == envelope


def test_a_name_and_a_tag_are_taken_once(added: Any) -> None:
    added(olh="SameName")
    with refused("entry_point_owners", InvalidInput, kind="oracle", name="olh"):
        oracle_names()
    added(foreign="Foreign", another="SameTag")
    with refused("oracle_tags_alike", InvalidInput, first="foreign", second="another", tag=64):
        oracle_tagged(64)
    with refused("oracle_tags_alike", InvalidInput, first="foreign", second="another", tag=64):
        task_oracles("another")
    assert task_oracles("krr") == (KRandomizedResponse(),)


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [("auto", "NameOfARule", "'auto' with tag 66"), ("another", "TagOfOurs", "'another' with tag 63")],
)
def test_rules_and_our_own_tags_are_not_for_others(added: Any, name: str, value: str, found: str) -> None:
    added(**{name: value})
    with refused("oracle_name_or_tag", InvalidInput, for_long_lists="auto, listed", first_tag=64, last_tag=255):
        find_oracle(name)


def test_an_entry_point_names_an_oracle(added: Any) -> None:
    added(krrr="NO_ORACLE")
    with refused("oracle_entry_point", InvalidInput, group="treetop.oracles", entry="krr"):
        find_oracle("krrr")


def test_an_oracle_stands_for_itself() -> None:
    assert find_oracle(FOREIGN) is FOREIGN
    assert chosen_oracle(FOREIGN, Fraction(2), 5) is FOREIGN
    assert oracle_named(FOREIGN, Epsilon(1), 4).size == 5
    assert (str(FOREIGN), repr(FOREIGN)) == ("foreign", "<oracle foreign>")


def test_oracles_of_one_class_are_equal_wherever_they_are() -> None:
    for oracle in (*ORACLES.values(), FOREIGN):
        copy = pickle.loads(pickle.dumps(oracle))  # noqa: S301  our own bytes
        assert copy == oracle
        assert hash(copy) == hash(oracle)
    assert len({*ORACLES.values(), *ORACLES.values()}) == 4
    assert KRandomizedResponse() != FOREIGN


def test_auto_changes_over_where_the_variances_cross() -> None:
    epsilon = Epsilon(2)
    last = math.ceil(3 * epsilon.odds + 2) - 1  # the largest d below 3 e^eps + 2
    assert oracle_named("auto", epsilon, last - 1).name == "krr"
    assert oracle_named("auto", epsilon, last).name == "olh"


def test_the_choice_for_a_list_is_exact() -> None:
    """At d - 2 = 3 e^eps, which no budget hits, OUE begins: the comparison is that of fractions."""
    assert chosen_oracle("listed", Fraction(2), 7).name == "krr"
    assert chosen_oracle("listed", Fraction(2), 8).name == "oue"
    odds = Budget("2").odds_below
    assert [chosen_oracle("listed", odds, slots).name for slots in (24, 25)] == ["krr", "oue"]


def test_a_task_names_the_oracles_of_its_devices() -> None:
    assert [oracle.name for oracle in task_oracles("listed")] == ["krr", "oue"]
    assert [oracle.name for oracle in task_oracles("olh")] == ["olh"]
    with refused("unknown_name", UnknownName, kind="oracle", found="auto", nearest=None):
        task_oracles("auto")


def test_a_deployment_offers_what_its_mode_can_ask() -> None:
    assert deployable_oracles(one_shot=True) == {"auto": "olh", "olh": "olh", "walsh": "walsh"}
    assert deployable_oracles(one_shot=False) == {"auto": "listed", "krr": "krr", "oue": "oue"}


def test_unknown_oracles_are_refused() -> None:
    with refused("unknown_name", UnknownName, kind="oracle", found="krrr", nearest="krr"):
        checked_oracle("krrr")
    with refused("unknown_name", UnknownName, kind="oracle", found="krrr", nearest="krr"):
        find_oracle("krrr")
    assert checked_oracle("listed") == "listed"


def test_our_own_names_need_no_look_at_other_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A device that answers through one of them loads no package metadata, which would load sockets."""
    monkeypatch.setattr(importlib.metadata, "entry_points", None)
    monkeypatch.setattr(registry, "ORACLES", Registry("oracle", registry._OWN, registry.GROUP, registry._checked))
    assert find_oracle("krr").name == "krr"
    assert [oracle.name for name in ("listed", "olh", "oue") for oracle in task_oracles(name)] == [
        "krr", "oue", "olh", "oue",
    ]  # fmt: skip
