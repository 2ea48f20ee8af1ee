"""Panorama: lists, names on no list, texts, ids and catalogues; what is sent, and parties without reports."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support.scripts import loaded

from treetop.datasets.federation import Federation
from treetop.datasets.loading import as_federation
from treetop.encoding.bit_strings import code_array
from treetop.encoding.item_codecs import Hashed, HashedText, Ids, ListedItems, Words
from treetop.encoding.text_code import code_bits
from treetop.errors import InvalidInput
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.panorama.discovery import (
    ConspicuousCodes,
    PanoramaPlan,
    expected_bits,
    most_conspicuous,
    tau_within,
)
from treetop.mechanisms.panorama.parameters import LEAST_TAU, MAX_TAU, PanoramaParameters, chunk_weights
from treetop.mechanisms.panorama.texts import CodeList, is_utf_8
from treetop.mechanisms.wire.panorama import FirstCounts
from treetop.privacy.epsilon import Epsilon
from treetop.simulation.population import Population
from treetop.simulation.run import RunResult, run
from treetop.trie.quantised_counts import QuantisedCounts
from treetop.wording import Note

TEXTS = ["green tea", "café au lait", "Lamp 3", "mate", "water", "cocoa", "juice", "天气预报"]
DATA = {
    "north": {text: 40_000 // (rank + 1) for rank, text in enumerate(TEXTS)},
    "south": {text: 30_000 // (rank + 1) for rank, text in enumerate(TEXTS)},
}
BITS = 16


def test_names_are_places_ids_or_hashes() -> None:
    with pytest.raises(InvalidInput) as refused:
        Panorama.over(Words(48))
    assert (refused.value.code, refused.value.parameters) == ("codes_of_encoding", {"encoding": "words"})


def parameters(**settings: object) -> PanoramaParameters:
    return PanoramaParameters(3, Epsilon(4)).with_settings({"bits": BITS, **settings})


def found(
    data: Any, listed: list[str] | None, given: PanoramaParameters, *, discovers: bool = True, texts: bool = True
) -> tuple[RunResult, list[str]]:
    federation: Federation = as_federation(data)
    codec = HashedText(given.bits, given.hash_key, given.text_chunks)
    words = [word.encode() for word in listed or []]
    names = CodeList.hashed(words, codec, given.text_chunks if texts else 0, ordered=False)
    outcome = run(Panorama(names, discovers, texts), given, Population(federation, codec), seed=1)
    assert outcome.ranking.texts is not None
    return outcome, ["?" if text is None else text.text.decode() for text in outcome.ranking.texts]


def test_texts_of_names_on_no_list_are_read() -> None:
    outcome, texts = found(DATA, None, parameters())
    assert texts == TEXTS[:3]
    assert {text.source for text in outcome.ranking.texts} == {"recovered"}  # type: ignore[union-attr]
    assert outcome.ranking.significant is not None
    assert outcome.ranking.significant.all()
    assert abs(outcome.ranking.counts[0] - 70_000) < 6 * np.sqrt(outcome.ranking.variances[0])


def test_where_fewer_than_k_stand_out_all_that_may_be_more_than_noise_is_looked_at() -> None:
    rare = {f"rare {number}": 3 for number in range(4)}
    _, texts = found({**DATA, "south": DATA["south"] | rare}, None, replace(parameters(bits=20), k=12))
    assert set(texts[: len(TEXTS)]) == {*TEXTS[:-1], "?"}  # the last one's code was cut
    assert len(texts) == 12


def test_a_list_and_texts_together_read_what_the_list_leaves() -> None:
    outcome, texts = found(DATA, [TEXTS[0], "nobody's", *(f"word {n}" for n in range(50))], parameters())
    assert texts == TEXTS[:3]
    assert [text.source for text in outcome.ranking.texts] == ["listed", "recovered", "recovered"]  # type: ignore[union-attr]


def test_without_texts_a_name_on_no_list_is_a_hash() -> None:
    _, texts = found(DATA, [TEXTS[0], TEXTS[2]], parameters(), texts=False)
    assert texts == [TEXTS[0], "?", TEXTS[2]]


def test_without_discovery_the_list_is_all_there_is() -> None:
    outcome, texts = found(DATA, TEXTS[1:], parameters(), discovers=False)
    assert texts == TEXTS[1:4]
    assert all(bits < 3_000 for bits in outcome.uplink_bits.values())


def test_many_parties_are_summed() -> None:
    many = {f"party {number}": {text: users // 4 for text, users in DATA["north"].items()} for number in range(11)}
    outcome, texts = found(many, TEXTS, parameters())
    assert texts == TEXTS[:3]
    assert (parameters().rule(11), parameters().rule(10)) == ("sum", "lower_confidence")
    assert parameters(score="sum").rule(2) == "sum"
    assert len(outcome.findings) == 11


def test_ids_are_their_own_names_and_whoever_has_none_is_counted() -> None:
    data = {"north": {"7": 30_000, "9": 20_000, "12345": 15_000, "no id": 10_000}, "south": {"7": 20_000, "11": 9_000}}
    given = parameters()
    population = Population(as_federation(data), Ids(BITS))
    outcome = run(Panorama(CodeList.of_codes(code_array([], BITS)), texts=False), given, population, seed=1)
    assert outcome.ranking.prefixes.tolist() == [7, 9, 12345]
    assert outcome.ranking.texts is None
    assert outcome.ranking.outside is not None
    assert abs(outcome.ranking.outside.count - 10_000) < 6 * np.sqrt(outcome.ranking.outside.variance)


def test_a_catalogue_is_counted_without_looking_further() -> None:
    codec = ListedItems(["chai", "cocoa", "latte", "mate"])
    data = {"north": {"chai": 9_000, "cocoa": 2_000, "beer": 4_000}, "south": {"chai": 5_000, "latte": 3_000}}
    given = parameters(bits=codec.bits)
    listed = CodeList.of_codes(np.arange(4, dtype=np.uint64))
    outcome = run(Panorama(listed, False, False), given, Population(as_federation(data), codec), seed=1)
    assert outcome.ranking.prefixes.tolist() == [0, 2, 1]
    assert outcome.ranking.outside is not None
    assert abs(outcome.ranking.outside.count - 4_000) < 6 * np.sqrt(outcome.ranking.outside.variance)


def test_parties_without_reports_are_left_out() -> None:
    given = parameters()
    mechanism = Panorama(CodeList.hashed([b"a", b"b"], Hashed(BITS), 12, ordered=False))
    population = Population(as_federation({"north": {"a": 1}}), HashedText(BITS))
    server = mechanism.server(given, population.roster)
    next(server)
    nothing = QuantisedCounts.of(np.zeros(2), np.inf)
    first = FirstCounts((0,) * 13, nothing, ConspicuousCodes.none(BITS))
    server.send({"north": first})
    server.send({"north": QuantisedCounts.of(np.empty(0), np.inf)})
    server.send({})
    with pytest.raises(StopIteration) as end:
        server.send({})
    assert len(end.value.value) == 0


def test_names_that_share_a_hash() -> None:
    codec = Hashed(8)
    words = [b"word %d" % number for number in range(600)]
    joined = CodeList.hashed(words, codec, 0, ordered=False)
    first = CodeList.hashed(words, codec, 0, ordered=True)
    apart = CodeList.hashed(words, codec, 4, ordered=False)
    assert len(joined) == len(first) == len({codec.hash_of(word) for word in words})
    assert len(apart) == 600
    assert joined.texts is not None
    assert first.texts is not None
    for both, one in zip(joined.texts, first.texts, strict=True):
        assert both.split(b" or ")[0] == one
    assert (np.diff(apart.codes.astype(int)) >= 0).all()
    assert len(apart.first_of_each(np.arange(600))) == len(joined)


def test_what_is_conspicuous_is_sent_at_its_real_length() -> None:
    rng = np.random.default_rng(1)
    space, tau = 1 << 20, 2.5
    noise = rng.standard_normal(space)
    names = np.flatnonzero(noise >= tau).astype(np.uint64)
    sent = ConspicuousCodes.of(names, noise[names.astype(int)], tau, space)
    assert sent.bits == pytest.approx(expected_bits(space, tau), rel=0.04)
    assert ConspicuousCodes.none(20).bits == 32


def test_the_bound_rises_as_the_budget_falls() -> None:
    space = 1 << 24
    assert tau_within(space, 1e9) == LEAST_TAU
    assert tau_within(space, 0) == MAX_TAU
    assert tau_within(space, 1.07e6) == pytest.approx(2.5, abs=0.02)
    assert tau_within(space, 251e3) == pytest.approx(3.04, abs=0.02)
    assert tau_within(space, 77e3) == pytest.approx(3.42, abs=0.02)


def test_names_that_several_parties_see_come_first() -> None:
    def named(*pairs: tuple[int, int]) -> ConspicuousCodes:
        names, steps = zip(*pairs, strict=True)
        return ConspicuousCodes(np.array(names, dtype=np.uint64), np.array(steps), 256)

    sent = {"a": named((3, 0), (5, 1), (9, 8)), "b": named((3, 0), (7, 2))}
    deviations = {"a": 10.0, "b": 10.0}
    assert most_conspicuous(sent, deviations, 2.5, 2.66, 2).tolist() == [3, 9]
    assert most_conspicuous(sent, deviations, 2.5, 2.66, 9).tolist() == [3, 5, 7, 9]


def test_a_plan_spends_what_the_list_leaves() -> None:
    def plan(listed: int, **settings: object) -> PanoramaPlan:
        given = parameters(bits=24, **settings)
        return PanoramaPlan.of(given, listed, signed=False, discovers=True, texts=True)

    assert plan(0).tau < plan(50_000).tau < plan(50_000, upload_budget=400_000).tau
    assert plan(0, upload_budget=1).tau == MAX_TAU
    assert (plan(0).kept, plan(0, text_chunks=64).kept, plan(0, upload_budget=80_000).kept) == (90, 30, 8)
    assert plan(0, upload_budget=1).kept == 1
    assert PanoramaPlan.of(parameters(), 5, signed=False, discovers=False, texts=False).weights == (1.0,)


@pytest.mark.parametrize("chunks", [1, 3, 5, 12])
def test_chunks_are_drawn_as_words_need_them(chunks: int) -> None:
    weights = chunk_weights(chunks)
    assert len(weights) == chunks
    assert sum(weights) == pytest.approx(1)
    assert list(weights) == sorted(weights, reverse=True)


def test_the_weights_of_words_are_those_of_the_public_corpus() -> None:
    """Half common words, half any: how often each chunk of their code is needed."""
    corpus = loaded("tools/build_text_model.py")
    kinds = corpus.read_corpus()
    needed = [
        np.array([-(-code_bits(word.encode())[1] // 8) for kind in chosen for word in kinds[kind]])
        for chosen in (("common",), corpus.WORDS)
    ]
    shares = np.mean([[(lengths > chunk).mean() for chunk in range(12)] for lengths in needed], axis=0)
    assert np.abs(shares / shares.sum() - chunk_weights(12)).max() < 0.035


def test_long_texts_need_every_chunk_alike_and_more_users() -> None:
    assert chunk_weights(13) == (1 / 13,) * 13
    assert (parameters().rho, parameters(text_chunks=13).rho) == (0.3, 0.45)
    assert parameters(text_chunks=40, text_share=0.2).rho == 0.2


def test_what_a_run_says() -> None:
    mechanism = Panorama()
    assert mechanism.notes.choices(parameters())[0] == Note(
        "panorama_reports", bits=16, hashed=True, oracle="walsh", text_share=0.3, chunks=12
    )
    assert replace(mechanism, texts=False).notes.choices(parameters())[0].parameters["text_share"] == 0
    assert mechanism.levels(parameters()).lengths == (0, BITS)
    assert mechanism.wire.uploads(parameters()) == 4
    assert replace(mechanism, discovers=False).wire.uploads(parameters()) == 2
    assert not is_utf_8(b"\xff")
    assert not is_utf_8(b"")


@pytest.mark.parametrize("users", [1, 2, 5, 40])
def test_few_reports_make_no_name_conspicuous_by_themselves(users: int) -> None:
    """A bound of the normal law would let through an eighth of all names where there is one report."""
    outcome, _ = found(
        {"north": {"tea": users}, "south": {"tea": 30_000, "mate": 20_000, "juice": 9_000}}, None, parameters()
    )
    assert outcome.uplink_bits["north"] < outcome.uplink_bits["south"] + 60_000
    assert outcome.ranking.counts[0] > 20_000
    assert np.isfinite(outcome.ranking.variances).all()
