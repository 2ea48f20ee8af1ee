"""What a federation in one process must do, whatever the mechanism and the mode."""

import json
from typing import Any

import pytest
from tests.support.federations import Federation, FixedSigner, crowd, items, order
from tests.support.hostile_texts import BEYOND_THE_BMP
from tests.support.populations import population
from tests.support.refusals import refused

from treetop.answers.answer import Answer
from treetop.datasets.loading import as_federation
from treetop.errors import InvalidInput
from treetop.federation.documents import canonical_json
from treetop.federation.task import DeviceTask
from treetop.federation.task_parameters import mechanism_of, parameters_of
from treetop.federation.wire.signed_documents import PublishedList, checked
from treetop.mechanisms.query import Query
from treetop.mechanisms.registry import MECHANISMS
from treetop.query.find import simulated_answer
from treetop.simulation.run import run

EVERY = pytest.mark.parametrize("mechanism", MECHANISMS)
BOTH = pytest.mark.parametrize("mode", ["one-shot", "rounds"])
ASKED = pytest.mark.parametrize(
    ("mechanism", "mode"), [(name, mode) for name in MECHANISMS for mode in MECHANISMS[name].deployment.modes]
)
IN_ROUNDS = pytest.mark.parametrize(
    "mechanism", [name for name in MECHANISMS if "rounds" in MECHANISMS[name].deployment.modes]
)
FAVOURITES = (200, 77, 9)


def federation(mechanism: str, mode: str, **more: Any) -> Federation:
    """Three parties; under epsilon 8 nearly nothing is noise."""
    return Federation.of(order(mechanism, mode, "abc", **more), crowd({"a": 3000, "b": 2000, "c": 1000}, FAVOURITES))


@ASKED
def test_the_obvious_items_are_found(mechanism: str, mode: str) -> None:
    content = federation(mechanism, mode).query().run().content
    found = items(content)
    if mechanism == "gtf":  # it deletes items that look alike: 77 and 9 share most bits
        assert found[0] == "200"
    else:
        assert found == ["200", "77", "9"]
        assert content["items"][0]["count"] == pytest.approx(2700, abs=4 * content["items"][0]["stderr"])
    assert content["missing"] == []
    assert content["covered"] == {"users": 6000, "of": "known", "known": 6000, "share": 1.0}
    assert [party["users"] for party in content["parties"]] == [3000, 2000, 1000]
    assert all(party["uplink_bits"] > 0 for party in content["parties"])
    assert content["privacy"]["reports_per_user"] == 1
    assert (content["mode"], content["seed"], content["fakes_needed"]) == (mode, None, None)


def test_seeds_are_part_of_the_task_and_are_counted_again() -> None:
    """One prefix is kept, and 9 lies below another one: only as a seed can it be found."""
    kept = {"kept": 1, "step_bits": 4}
    alone = federation("canopy", "one-shot", settings=kept).query().run().content
    assert "9" not in items(alone)
    seeded = federation("canopy", "one-shot", settings={**kept, "seeds": "9=0.180000,c8=0.450000"})
    assert dict(seeded.task.settings)["seeds"] == "9=0.180000,c8=0.450000"
    assert str(parameters_of(seeded.task).seeds) == "9=0.180000,c8=0.450000"  # type: ignore[attr-defined]
    weights = [entry.weight for entry in seeded.task.groups]
    assert 20 * weights[-1] == 13 * sum(weights)
    assert items(seeded.query().run().content) == ["200", "77", "9"]


@ASKED
@pytest.mark.parametrize("k", [1, 2, 12])
def test_every_k_and_a_low_epsilon_do(mechanism: str, mode: str, k: int) -> None:
    settings = dict[str, object]()
    if mechanism == "taps" and mode == "rounds" and k == 1:  # validation lists of two candidates are too short
        with refused(
            "lists_too_short",
            InvalidInput,
            min_slots=5,
            slots=3,
            level=2,
            value="validate infrequent",
            instead="a larger k",
        ):
            federation(mechanism, mode, k=k, epsilon="0.5").query()
        settings["pruning"] = False
    content = federation(mechanism, mode, k=k, epsilon="0.5", settings=settings).query().run().content
    assert len(items(content)) <= k
    assert content["missing"] == []


@ASKED
def test_a_server_writes_the_answer_that_find_writes(mechanism: str, mode: str) -> None:
    content = federation(mechanism, mode).query().run().content
    answer = Answer.from_json(content)
    assert answer.to_json() == content
    assert (answer.users, answer.name, answer.levels) == (6000, content["name"], content["levels"])
    assert str(answer.privacy).startswith("every user answers once; no report is more than e^8")
    simulated = simulated_answer(as_federation({"a": ["1"] * 50}), Query(1, 8), seed=1).to_json()
    assert {*simulated} == {*content, "truth"}


@IN_ROUNDS
@pytest.mark.parametrize("oracle", ["krr", "oue", "auto"])
def test_every_oracle_of_rounds_does(mechanism: str, oracle: str) -> None:
    content = federation(mechanism, "rounds", oracle=oracle, epsilon="4").query().run().content
    assert items(content)[0] == "200"


@ASKED
def test_one_party_alone_does(mechanism: str, mode: str) -> None:
    alone = Federation.of(order(mechanism, mode, ["only"]), crowd({"only": 2000}))
    assert items(alone.query().run().content)[0] == "200"


@BOTH
@pytest.mark.parametrize(
    "settings", [{"shared_share": 0}, {"shared_trie": False}, {"pruning": False}, {"bits": 16, "levels": 8}]
)
def test_taps_does_without_parts_of_it(mode: str, settings: dict[str, object]) -> None:
    assert items(federation("taps", mode, settings=settings).query().run().content) == ["200", "77", "9"]


@BOTH
def test_codes_longer_than_a_machine_word_do(mode: str) -> None:
    long = order("canopy", mode, "ab", settings={"bits": 72, "step_bits": 8})
    codes = {name: [(1 << 70) + 5] * 900 + [3] * 600 for name in "ab"}
    assert items(Federation.of(long, codes).query().run().content)[:2] == [str((1 << 70) + 5), "3"]


def test_every_list_that_devices_see_is_signed_and_logged_once() -> None:
    asked = federation("taps", "rounds")
    asked.query().run()
    log = asked.journal.read(f"log:{asked.task.digest.hex()}")
    lists = [
        PublishedList.from_bytes(checked("list", document, FixedSigner()), asked.task) for document in log.values()
    ]
    assert len(log) == 4 + 2 * (4 + 2 * 3)  # four levels; three of them pruned by two parties with two sets each
    assert {listed.party for listed in lists} == {"a", "b", "c"}
    assert len({(listed.party, listed.question.group) for listed in lists}) == len(lists)


@EVERY
def test_a_federation_without_noise_agrees_with_the_simulation(mechanism: str) -> None:
    """Under epsilon 16 both count nearly everybody right: the same top item, counts within the drawing of groups."""
    asked = federation(mechanism, "one-shot", epsilon="16", k=2)
    sizes = {name: {str(code): party.codes.count(code) for code in set(party.codes)}
             for name, party in asked.parties.items()}  # fmt: skip
    simulated = run(mechanism_of(asked.task), parameters_of(asked.task), population(sizes), seed=3)
    found = asked.query().run().content
    assert items(found)[0] == str(simulated.ranking.prefixes[0])
    assert found["items"][0]["count"] == pytest.approx(float(simulated.ranking.counts[0]), rel=0.1)


def test_a_result_is_read_back_and_not_asked_for_again() -> None:
    asked = federation("taps", "one-shot")
    first = asked.query().run()
    for channel in asked.channels.values():
        channel.reachable = False
    assert asked.query().run() == first
    assert json.loads(first.document)["task"] == asked.task.digest.hex()


@BOTH
def test_parties_may_be_called_what_people_can_read(mode: str) -> None:
    """Emoji, rare characters, accents of two code points: in tasks, beacons, lists, journals and the answer."""
    sizes = dict(zip(BEYOND_THE_BMP, (900, 800, 700, 600, 500), strict=True))
    asked = Federation.of(order("taps", mode, BEYOND_THE_BMP), crowd(sizes, FAVOURITES))
    assert DeviceTask.from_canonical_bytes(asked.task.canonical_bytes()).parties == BEYOND_THE_BMP
    content = asked.query().run().content
    assert [party["name"] for party in content["parties"]] == list(BEYOND_THE_BMP)
    assert content["missing"] == []
    assert Answer.from_json(content).parties[0].name == BEYOND_THE_BMP[0]
    assert asked.query().run().content == content


def test_canonical_json_sorts_keys_by_code_point() -> None:
    """As Python does and JavaScript does not: it compares halves of surrogate pairs, which come before U+FFEE."""
    assert canonical_json({"\U0001f600": 1, "\uffee": 2, "z": 3}) == rb'{"z":3,"\uffee":2,"\ud83d\ude00":1}'
