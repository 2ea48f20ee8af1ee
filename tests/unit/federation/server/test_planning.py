import math
import re
from dataclasses import replace
from itertools import product
from typing import Any

import pytest
from tests.support.orders import changed, query_order

from treetop.errors import InvalidInput, PeerViolation, UnknownName
from treetop.federation.device.list_checks import MIN_SLOTS, smallest_domain
from treetop.federation.server.planning import QueryOrder, plan_notes, planned_task
from treetop.federation.task import DeviceTask
from treetop.federation.task_codec import codec_of
from treetop.federation.task_parameters import mechanism_of, mode_of, parameters_of
from treetop.federation.wire.item_lists import ItemList
from treetop.mechanisms.deployed_groups import task_lengths
from treetop.mechanisms.deployment import MODES
from treetop.mechanisms.parameters import Parameters
from treetop.mechanisms.registry import MECHANISMS, mechanism_named
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.registry import oracle_named, oracle_names
from treetop.oracles.set_reports import SetQuestion
from treetop.privacy.budget import Budget
from treetop.privacy.epsilon import Epsilon
from treetop.trie.user_groups import Group, Role
from treetop.wording import Note

IN_ROUNDS = [name for name in MECHANISMS if "rounds" in MECHANISMS[name].deployment.modes]
EPSILONS = ["0.1", "0.5", "1", "1.5", "2", "3", "4", "5.25", "8", "11", "16"]


def ordered(mechanism: str = "taps", **more: Any) -> QueryOrder:
    return query_order("fruit", ("a", "b"), mechanism=mechanism, **{"encoding": "ids", **more})


@pytest.mark.parametrize(("mechanism", "mode"), list(product(IN_ROUNDS, MODES)))
def test_a_task_says_all_that_its_dialogues_need(mechanism: str, mode: Any) -> None:
    settings = {"bits": 24, "levels": 6} if mechanism != "canopy" else {"bits": 24, "step_bits": 6}
    task = planned_task(ordered(mechanism, mode=mode, k=7, epsilon="1.50", settings=settings))
    parameters: Any = parameters_of(DeviceTask.from_canonical_bytes(task.canonical_bytes()))
    assert (parameters.k, parameters.epsilon, parameters.bits) == (7, 1.5, 24)
    assert task.lengths == mechanism_named(mechanism).levels(parameters).lengths
    assert (task.bits, mode_of(task)) == (24, mode)
    assert parameters.least_kept == (2 if mode == "rounds" else 1)
    assert {entry.group.level for entry in task.groups} == set(range(1, len(task.lengths)))


def weights(task: DeviceTask) -> dict[Group, int]:
    return {entry.group: entry.weight for entry in task.groups}


def test_weights_are_those_of_the_paper() -> None:
    found = weights(planned_task(ordered("taps")))
    assert [found[Group(level)] for level in (1, 6, 7, 12, 13, 17, 18, 24)] == [10, 10, 24, 24, 30, 30, 24, 24]
    assert found[Group(7, Role.VALIDATE_FREQUENT)] == found[Group(24, Role.VALIDATE_INFREQUENT)] == 3
    assert Group(13, Role.VALIDATE_FREQUENT) not in found
    assert set(weights(planned_task(ordered("fedpem"))).values()) == {1}
    assert list(weights(planned_task(ordered("gtf"))).values()) == [*range(25, 71, 2), 71 + 48]
    assert list(weights(planned_task(ordered("tap"))).values()) == [1] * 6 + [3] * 18


DRINKS = ItemList(("chai", "latte", "mate"), ordered=True, source="drinks.csv")


def test_texts_are_asked_for_unless_something_else_is_said() -> None:
    task = planned_task(query_order("fruit", ("a", "b")))
    assert (task.mechanism, task.reports, task.oracle, task.item_list) == ("panorama", "names", "walsh", "")
    assert task.lengths == (0, 24, *range(32, 24 + 8 * 12 + 1, 8))
    assert (task.encoding.name, dict(task.settings)["hash_key"]) == ("hashed", task.encoding.hash_key)
    weights = [entry.weight for entry in task.groups]
    assert weights[0] / sum(weights) == pytest.approx(0.7)
    whole = planned_task(query_order("fruit", ("a", "b"), text_recovery=False))
    assert (whole.lengths, len(whole.groups)) == ((0, 24), 1)
    assert planned_task(query_order("fruit", ("a", "b"), mode="rounds")).mechanism == "canopy"
    assert planned_task(query_order("fruit", ("a", "b"), encoding="words")).mechanism == "canopy"
    assert planned_task(query_order("fruit", ("a", "b"), oracle="olh")).mechanism == "canopy"
    ids = planned_task(query_order("fruit", ("a", "b"), encoding="ids"))
    assert (ids.mechanism, ids.lengths, ids.encoding.hash_key) == ("panorama", (0, 24), "")


def test_a_list_is_named_by_its_digest_and_a_catalogue_fixes_the_bits() -> None:
    words = planned_task(query_order("fruit", ("a", "b"), word_list=DRINKS, normalise="trim,nfc"))
    assert (words.item_list, words.encoding.normalise, words.chunks) == (DRINKS.digest, "nfc,trim", 12)
    known = planned_task(query_order("fruit", ("a", "b"), catalogue=DRINKS))
    assert (known.item_list, known.encoding.name, known.lengths) == (DRINKS.digest, "catalogue", (0, 8))


def test_every_query_has_a_key_of_its_own_and_the_same_order_the_same() -> None:
    first = query_order("fruit", ("a", "b"))
    changes: list[dict[str, Any]] = [{"name": "roots"}, {"k": 11}, {"word_list": DRINKS}, {"text_recovery": False}]
    orders = [first, *(changed(first, **more) for more in changes)]
    keys = [planned_task(order).encoding.hash_key for order in orders]
    assert len(set(keys)) == len(keys)
    assert planned_task(query_order("fruit", ("a", "b"))).encoding.hash_key == keys[0]
    fixed = planned_task(query_order("fruit", ("a", "b"), settings={"hash_key": "mine"}))
    assert (fixed.encoding.hash_key, dict(fixed.settings)["hash_key"]) == ("mine", "mine")


@pytest.mark.parametrize("more", [
    {}, {"word_list": DRINKS}, {"catalogue": DRINKS}, {"encoding": "ids"}, {"text_recovery": False},
    {"word_list": DRINKS, "text_recovery": False}, {"settings": {"bits": 16, "text_chunks": 3, "text_share": 0.5}},
])  # fmt: skip
def test_parties_read_from_a_task_what_the_server_planned(more: dict[str, Any]) -> None:
    order = query_order("fruit", ("a", "b"), **more)
    task, planned = order.planned.task, order.planned.strategy
    mechanism: Any = mechanism_of(DeviceTask.from_canonical_bytes(task.canonical_bytes()), order.listed)
    told: Any = planned.mechanism
    assert mechanism.listed.codes.tolist() == told.listed.codes.tolist()
    assert (mechanism.listed.texts, mechanism.listed.chunks.tolist()) == (
        told.listed.texts,
        told.listed.chunks.tolist(),
    )
    assert (mechanism.discovers, mechanism.texts) == (told.discovers, told.texts)
    assert task_lengths(mechanism, parameters_of(task)) == task.lengths
    codec = codec_of(task, order.listed.items if order.listed else ())
    assert (codec.name, codec.bits) == (planned.codec.name, planned.codec.bits)
    other = ItemList(("tea",))
    with pytest.raises(PeerViolation, match="list of the task"):
        mechanism_of(task, None if order.listed else other)


def test_a_task_that_asks_a_trie_for_names_is_refused() -> None:
    task = planned_task(query_order("fruit", ("a", "b")))
    with pytest.raises(PeerViolation, match="panorama"):
        mechanism_of(replace(task, mechanism="canopy"))


@pytest.mark.parametrize(("more", "message"), [
    ({"mode": "rounds", "mechanism": "panorama"}, "panorama can be asked in one-shot mode, found rounds"),
    ({"mode": "rounds", "word_list": DRINKS}, "the strategy 'trie' has no use for a word list"),
    ({"mechanism": "taps", "text_recovery": True}, "no use for text recovery"),
    ({"catalogue": DRINKS, "encoding": "ids"}, "with a catalogue nothing is searched or encoded"),
    ({"strategy": "catalogue"}, "expects a catalogue, found none"),
    ({"strategy": "forest"}, "unknown strategy"), ({"normalise": "rot13"}, "unknown step of normalisation"),
    ({"oracle": "olh", "mechanism": "panorama"}, "olh does not count every name of 24 bits: only walsh does"),
    ({"settings": {"bits": 27}, "mechanism": "panorama"}, "at most 26 bits, found bits = 27"),
])  # fmt: skip
def test_names_that_cannot_be_asked_for_are_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        planned_task(query_order("fruit", ("a", "b"), **more))


def test_canopy_takes_public_weights_and_says_so() -> None:
    ramp, equal = planned_task(ordered("canopy")), planned_task(ordered("canopy", encoding="hashed"))
    assert list(weights(ramp).values()) == [5, 4, 6, 8, 10, 20]
    assert list(weights(equal).values()) == [1, 1, 1, 1, 1, 2]
    assert plan_notes(ramp)[0] == Note("canopy_public_weights", weights="ramp")
    assert list(weights(planned_task(ordered("canopy", settings={"bits": 8}))).values()) == [1]


def test_a_setting_that_nobody_reads_is_named() -> None:
    notes = plan_notes(planned_task(ordered("fedpem", settings={"beta": 0.2})))
    assert notes == (Note("setting_unused", mechanism="fedpem", setting="beta"),)
    alone = planned_task(query_order("fruit", ("a",), mechanism="tap"))
    assert plan_notes(alone) == (Note("nobody_to_share_with", mechanism="tap"),)


@pytest.mark.parametrize("mechanism", IN_ROUNDS)
@pytest.mark.parametrize("encoding", ["words", "ids", "text", "hashed"])
def test_the_default_tasks_of_every_mechanism_meet_the_devices_floor(mechanism: str, encoding: str) -> None:
    """Five slots: no longer floor would do, since the paper's tries begin with two bits."""
    task = planned_task(ordered(mechanism, mode="rounds", encoding=encoding))
    shortest = min(smallest_domain(task, entry.group) + 1 for entry in task.groups)
    assert shortest == (257 if mechanism == "canopy" else MIN_SLOTS)


@pytest.mark.parametrize(("changed", "where"), [
    ({"mechanism": "tap", "settings": {"bits": 24, "levels": 24}}, "found 3 at level 1 (estimate)"),
    ({"mechanism": "canopy", "settings": {"bits": 24, "step_bits": 1}}, "found 3 at level 1 (estimate)"),
    ({"mechanism": "taps", "k": 1}, "found 3 at level 7 (validate infrequent)"),
])  # fmt: skip
def test_lists_that_devices_would_not_answer_are_refused_when_ordered(changed: dict[str, Any], where: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(f"devices answer candidate lists of 5 slots at least, {where}")):
        planned_task(ordered(**changed, mode="rounds"))
    planned_task(ordered(**changed))


def test_the_only_party_validates_nothing_and_needs_no_list_for_it() -> None:
    planned_task(query_order("fruit", ("a",), mechanism="taps", mode="rounds", k=1))


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"mechanism": "catalogue"}, "unknown mechanism"),
        ({"mode": "twice"}, "unknown mode"),
        ({"oracle": "krr"}, "unknown oracle of one-shot mode 'krr', expected one of auto, olh"),
        ({"oracle": "olh", "mode": "rounds"}, "unknown oracle of rounds mode"),
        ({"encoding": "runes"}, "unknown encoding"),
        ({"settings": {"bit": 8}}, "unknown setting 'bit'"),
        ({"settings": {"groups": "fixed"}}, "must be independent"),
        ({"settings": {"bits": "many"}}, "setting 'bits' expects"),
        ({"epsilon": "2,5"}, "epsilon must be a number"),
        ({"epsilon": "1e1"}, "decimal digits"),
        ({"k": 0}, "k must be"),
        ({"expected": {"z": 3}}, "unknown party 'z'"),
        ({"expected": {"a": 0}}, "must be a whole number from 1"),
        ({"name": ""}, "name must not be empty"),
        ({"parties": ()}, "one party at least"),
        ({"parties": ("a", "a")}, "distinct names"),
    ],
)
def test_what_cannot_be_asked_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        planned_task(query_order(**{"name": "fruit", "parties": ("a", "b"), "encoding": "ids", **changed}))


@pytest.mark.parametrize("text", EPSILONS)
def test_devices_and_parties_take_the_same_oracle_for_every_list(text: str) -> None:
    task = planned_task(ordered("taps", mode="rounds", epsilon=text))
    parameters, turn = parameters_of(task), int(3 * math.exp(float(text)) + 2)
    for slots in {*range(2, 200), *range(max(2, turn - 3), turn + 4)}:
        if slots > 2:
            assert parameters.oracle_for(slots - 1).name == task.oracle_for(slots).name


@pytest.mark.parametrize("text", EPSILONS)
def test_parties_count_with_the_buckets_that_devices_use(text: str) -> None:
    task = planned_task(ordered("taps", epsilon=text))
    oracle = oracle_named("olh", Epsilon(text), 9)
    assert oracle.report_slots == task.unlisted_face.slots
    assert Budget(text) == task.budget


def test_people_are_not_offered_the_rule_of_lists() -> None:
    assert "listed" not in oracle_names()
    with pytest.raises(UnknownName, match="expected one of krr, oue, olh, walsh, auto"):
        Parameters(3, Epsilon(1), "listd")


def test_the_longest_list_is_known_beforehand() -> None:
    task = planned_task(ordered("taps", mode="rounds", k=5, settings={"bits": 8, "levels": 4}))
    assert task.max_slots == 10 * 4 + 1
    assert planned_task(ordered("canopy", mode="rounds")).max_slots == 30 * 256 + 1


def test_lists_that_are_too_long_for_the_oracle_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(KRandomizedResponse, "max_slots", 41)
    asked = {"mode": "rounds", "k": 5, "oracle": "krr"}
    assert planned_task(ordered("taps", settings={"bits": 8, "levels": 4}, **asked)).max_slots == 41
    expected = "the oracle 'krr' has at most 41 slots, found candidate lists of up to 161"
    with pytest.raises(InvalidInput, match=expected):
        planned_task(ordered("taps", settings={"bits": 8, "levels": 2}, **asked))


def test_codes_are_read_back_by_the_tasks_own_codec() -> None:
    assert codec_of(planned_task(ordered(encoding="ids"))).show(7) == "7"
    hashed = codec_of(planned_task(ordered(encoding="hashed", settings={"hash_key": "salt"})))
    assert (
        hashed.encode(["x"]).codes.tolist()
        != codec_of(planned_task(ordered(encoding="hashed"))).encode(["x"]).codes.tolist()
    )


def test_what_is_asked_of_sets_stands_in_the_task_and_nowhere_else() -> None:
    asked = query_order("sets", ("a", "b"), sets=SetQuestion(8, "holders"))
    task = planned_task(asked)
    assert task.sets == asked.query.sets
    assert "items_per_user" not in dict(task.settings)
    assert getattr(parameters_of(task), "items_per_user") == 8  # noqa: B009  a setting of its own
    plain = planned_task(changed(asked, sets=None))
    assert plain.encoding.hash_key != task.encoding.hash_key
    assert (plain.unlisted_face.slots, task.unlisted_face.slots) == (8, 64)
    one = planned_task(query_order("one", ("a", "b"), mechanism="taps", sets=SetQuestion(1, "shares")))
    assert one.thresholds["items"] == "1"


@pytest.mark.parametrize(("more", "message"), [
    ({"mode": "rounds"}, "devices that hold sets are asked in one-shot mode, found rounds"),
    ({"mechanism": "fedpem"}, "fedpem asks every user for the one item that she holds"),
    ({"settings": {"items_per_user": "8"}}, "a federation expects items_per_user beside the settings"),
])  # fmt: skip
def test_sets_that_cannot_be_asked_about_are_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        query_order("sets", ("a",), sets=SetQuestion(8, "holders"), **more)
