"""Hashed names: search, reading, ranking, and what is said about them."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import treetop
from treetop.encoding.hashed_text import HashedText, hash_bits_for, shared_hash_chance
from treetop.encoding.text_code import chunks_of
from treetop.errors import InvalidInput
from treetop.mechanisms.hashed_names.mechanism import HashedNames
from treetop.mechanisms.hashed_names.plan import HashedParameters, HashedPlan, HashedTextParameters
from treetop.mechanisms.panorama.texts import ChunkCounts, gains_of, is_utf_8
from treetop.privacy.epsilon import Epsilon
from treetop.query.answer import Answer
from treetop.trie.candidate_domain import ChunkDomain
from treetop.trie.party_counts import QuantisedCounts

# Notes are looked at in the answer; that each is a warning, too, is tested with `find`.
pytestmark = pytest.mark.filterwarnings("ignore::treetop.errors.TreetopWarning")

TEXTS = ["green tea", "café au lait", "https://nova.com/news", "Lamp 3", "mate ☕", "water", "cocoa", "juice"]
DATA = {
    "north": {text: 40_000 // (rank + 1) for rank, text in enumerate(TEXTS)},
    "south": {text: 30_000 // (rank + 1) for rank, text in enumerate(TEXTS)},
}


def _find(**options: Any) -> Answer:
    return treetop.find(DATA, **{"k": 3, "epsilon": 4.0, "seed": 1, **options})


def test_texts_that_fit_no_code_are_hashed_and_recovered() -> None:
    answer = _find()
    assert (answer.mechanism, answer.encoding) == ("hashed_names", "hashed")
    assert any("the first 24 bits" in text for text in answer.choices)
    assert [row.item for row in answer.items] == TEXTS[:3]
    assert {row.source for row in answer.items} == {"recovered"}
    assert answer.truth is not None
    assert answer.truth.f1 == 1
    assert all(row.significant for row in answer.items)
    assert any("too few items fit" in text for text in answer.choices)
    assert any("shares it with another by a chance of 0.00%" in text for text in answer.choices)
    assert [item["source"] for item in answer.to_json()["items"]] == ["recovered"] * 3


def test_a_word_list_reads_names_and_lets_all_users_search() -> None:
    answer = _find(word_list=[TEXTS[0], TEXTS[2], "nobody's"])
    assert [row.source for row in answer.items] == ["listed", "unknown", "listed"]
    assert answer.items[1].item.startswith("#")
    assert answer.truth is not None
    assert answer.truth.f1 == pytest.approx(2 / 3)
    assert any("all users search" in text for text in answer.choices)


def test_a_list_and_texts_together_read_what_the_list_leaves() -> None:
    answer = _find(word_list=[TEXTS[0]], text_recovery=True)
    assert [row.source for row in answer.items] == ["listed", "recovered", "recovered"]
    assert [row.item for row in answer.items] == TEXTS[:3]


def test_text_reports_make_the_error_bars_smaller() -> None:
    pooled, alone = _find(text_recovery=True).items[0], _find(text_recovery=True, word_list=TEXTS[:3], k=3).items[0]
    assert pooled.stderr == pytest.approx(alone.stderr, rel=0.1)
    assert abs(pooled.count - 70_000) < 6 * pooled.stderr


def test_a_code_longer_than_its_chunks_shows_as_a_hash() -> None:
    answer = _find(text_chunks=4)
    assert any("text code longer than 32 bits" in note for note in answer.notes)
    assert "unknown" in {row.source for row in answer.items}
    assert any("4 chunks" in text for text in answer.choices)


@pytest.mark.parametrize("score", ["lower_confidence", "sum"])
@pytest.mark.parametrize("simulator", ["exact", "devices"])
def test_both_simulators_and_scores_read_the_texts(simulator: str, score: str) -> None:
    small = {party: {text: users // 8 for text, users in held.items()} for party, held in DATA.items()}
    answer = treetop.find(
        small, k=2, epsilon=6, seed=3, simulator=simulator, score=score, kept=4, upload_budget=20_000, strategy="hashed"
    )
    assert [row.item for row in answer.items] == TEXTS[:2]


def test_k_rr_counts_chunks_too() -> None:
    small = {"one": dict.fromkeys(TEXTS[:2], 20000)}
    for simulator in ("exact", "devices"):
        answer = treetop.find(
            small, k=2, epsilon=14, oracle="krr", seed=3, simulator=simulator, kept=2, strategy="hashed"
        )
        assert sorted(row.item for row in answer.items) == sorted(TEXTS[:2])


def test_nobody_left_at_the_last_level_is_an_empty_answer() -> None:
    two = {"one": ["a b"], "two": ["c d"]}
    empty = [treetop.find(two, k=1, seed=seed, strategy="hashed", text_recovery=False) for seed in range(20)]
    assert any(not found.items for found in empty)
    assert any(found.items for found in empty)


def test_a_party_of_one_user_takes_part_in_the_texts() -> None:
    answer = treetop.find({**DATA, "tiny": {"water": 1}}, k=2, epsilon=4, seed=1)
    assert [row.item for row in answer.items] == TEXTS[:2]


def test_items_that_share_a_hash_are_simulated_apart() -> None:
    codec = HashedText(8)
    words = [f"word {number}" for number in range(2_000)]
    code = codec.hash_of(words[0].encode())
    twins = [word for word in words if codec.hash_of(word.encode()) == code][:2]
    assert len(twins) == 2
    data = {"one": dict.fromkeys(twins, 5_000)}
    answer = treetop.find(data, k=1, epsilon=8, seed=1, strategy="hashed", bits=8, upload_budget=60_000)
    assert answer.items[0].true_count == 10_000


def test_hash_lengths_and_shared_hashes() -> None:
    assert [hash_bits_for(items) for items in (10, 100_000, 100_001)] == [24, 24, 32]
    assert shared_hash_chance(1, 24) == 0
    assert shared_hash_chance(100_001, 24) == pytest.approx(100_000 / 2**24, rel=0.01)


def test_plans_keep_the_upload_budget() -> None:
    ten = HashedTextParameters(10, Epsilon(2), bits=24)
    assert HashedPlan.of(HashedParameters(10, Epsilon(2), bits=24)).search.lengths == (0, 12, 24)
    assert HashedPlan.of(ten).expected_bits(10) <= 250_000
    narrow = HashedPlan.of(HashedParameters(10, Epsilon(2), bits=24, upload_budget=150_000))
    assert narrow.search.lengths == (0, 8, 16, 24)
    assert HashedPlan.of(replace(ten, bits=32)).search.L == 3
    assert HashedPlan.of(replace(ten, kept=7)).search.kept == 7


def test_what_is_said_before_anything_is_known() -> None:
    mechanism = HashedNames({}, texts=True)
    parameters = mechanism.parameters(10, Epsilon(2), bits=24)
    assert mechanism.choices(parameters)[0] == "a name is the first 24 bits of its salted hash"
    assert mechanism.levels(parameters) == 2


def test_chunk_domains_hash_all_three() -> None:
    hashes = np.array([3, 5], dtype=np.uint64)
    first, second = (ChunkDomain.behind(hashes, 24, chunk) for chunk in (0, 1))
    keys = np.concatenate([first.keys(first.prefixes), second.keys(second.prefixes)])
    assert len(np.unique(keys)) == 2 * 2 * 256


def test_values_and_slots() -> None:
    domain = ChunkDomain.behind(np.array([3], dtype=np.uint64), 24, 0)
    slots = domain.slots_of(np.array([3 << 8, (3 << 8) + 255, 4 << 8, 0], dtype=np.uint64))
    assert slots.tolist() == [0, 255, 256, 256]
    empty = ChunkDomain.behind(np.array([], dtype=np.uint64), 24, 0)
    assert empty.slots_of(np.array([1], dtype=np.uint64)).tolist() == [0]


def test_a_party_without_text_reports_says_nothing() -> None:
    silent = ChunkCounts((QuantisedCounts.of(np.zeros(0), np.inf),))
    assert not gains_of(silent, np.ones(2)).any()


def test_only_utf_8_is_a_text() -> None:
    assert is_utf_8("é".encode())
    assert not is_utf_8(b"\xff")
    assert not is_utf_8(b"")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"strategy": "hash"}, "unknown strategy"),
        ({"strategy": "catalogue"}, "expects a catalogue, found none"),
        ({"strategy": "hashed", "mechanism": "taps"}, "no use for the mechanism 'taps'"),
        ({"strategy": "hashed", "encoding": "words"}, "no use for the encoding 'words'"),
        ({"strategy": "trie", "word_list": ["a"]}, "no use for a word list"),
        ({"strategy": "trie", "text_recovery": True}, "no use for text recovery"),
        ({"strategy": "trie", "catalogue": ["a"]}, "no use for a catalogue"),
        ({"word_list": "a text"}, "must be a list of items"),
    ],
)
def test_what_a_strategy_cannot_use_is_refused(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        _find(**options)


def test_a_strategy_is_chosen_from_what_is_given() -> None:
    words = {"one": ["ash", "ash", "oak"] * 50}
    ids = {"one": ["17", "17", "42"] * 50}
    assert treetop.find(words, k=1, seed=1).encoding == "words"
    assert treetop.find(ids, k=1, seed=1).encoding == "ids"
    assert treetop.find(words, k=1, seed=1, encoding="hashed").mechanism == "canopy"
    assert treetop.find(words, k=1, seed=1, text_recovery=False, strategy="hashed").mechanism == "hashed_names"
    assert treetop.find(words, k=1, seed=1, catalogue=["ash"]).mechanism == "catalogue"
    assert "first 32 bits" in treetop.find(words, k=1, seed=1, strategy="hashed", bits=32).choices[0]


def test_encoded_chunks_are_those_of_the_text_code() -> None:
    encoded = HashedText(24).encode(["tea", "café"])
    assert encoded.chunks is not None
    assert [bytes(row) for row in encoded.chunks] == [chunks_of(b"tea"), chunks_of("café".encode())]
