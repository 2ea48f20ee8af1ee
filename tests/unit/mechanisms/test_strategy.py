"""Which strategy suits what is given, what it makes of it, and what is refused."""

from typing import Any

import pytest

from treetop.encoding.item_codecs import Ids, ItemCatalogue, shared_hash_chance
from treetop.errors import InvalidInput, UnknownName
from treetop.mechanisms.panorama.algorithm import Panorama
from treetop.mechanisms.panorama.discovery import PanoramaPlan
from treetop.mechanisms.panorama.parameters import PanoramaParameters, code_bits_for
from treetop.mechanisms.query import Query
from treetop.mechanisms.strategy import ItemsAhead, Strategy, check_takes_sets, choose
from treetop.privacy.epsilon import Epsilon
from treetop.wording import Note

WORDS, IDS = ItemsAhead(("ash", "oak")), ItemsAhead(("17", "42"))
LONG_IDS = ItemsAhead(("17", str(1 << 30)))
TEXTS = ItemsAhead(("green tea", "café au lait"))
NOTHING = ItemsAhead()
LIST, ORDERED = ItemCatalogue(("ash", "elm")), ItemCatalogue(("ash", "elm"), ordered=True)
AT_ONCE = "every name is counted at once, and nothing needs to be searched"


def chosen(ahead: ItemsAhead = WORDS, parties: int = 2, **asked: Any) -> Strategy:
    return choose(Query(**asked), ahead, parties=parties, hash_key="drawn")


def panorama(strategy: Strategy) -> Panorama:
    assert isinstance(strategy.mechanism, Panorama)
    return strategy.mechanism


@pytest.mark.parametrize(
    ("ahead", "asked", "mechanism", "encoding", "reason"),
    [
        (WORDS, {}, "panorama", "hashed", AT_ONCE),
        (TEXTS, {}, "panorama", "hashed", AT_ONCE),
        (NOTHING, {}, "panorama", "hashed", AT_ONCE),
        (IDS, {}, "panorama", "ids", AT_ONCE),
        (LONG_IDS, {}, "panorama", "hashed", AT_ONCE),
        (NOTHING, {"encoding": "ids"}, "panorama", "ids", AT_ONCE),
        (IDS, {"encoding": "hashed"}, "panorama", "hashed", AT_ONCE),
        (IDS, {"mechanism": "panorama"}, "panorama", "ids", AT_ONCE),
        (IDS, {"word_list": LIST}, "panorama", "hashed", "names are to be read back"),
        (WORDS, {"text_recovery": False}, "panorama", "hashed", "names are to be read back"),
        (WORDS, {"catalogue": LIST}, "panorama", "catalogue", "the items are known"),
        (WORDS, {"mechanism": "canopy"}, "canopy", "words", "the mechanism 'canopy' was asked for"),
        (IDS, {"mechanism": "taps"}, "taps", "ids", "the mechanism 'taps' was asked for"),
        (TEXTS, {"mechanism": "taps"}, "taps", "words", "the mechanism 'taps' was asked for"),
        (WORDS, {"encoding": "words"}, "canopy", "words", "the encoding 'words' was asked for"),
        (IDS, {"encoding": Ids(16)}, "canopy", "ids", "the encoding 'ids' was asked for"),
        (WORDS, {"settings": {"bits": "32"}}, "canopy", "words", "codes of 32 bits are more than can be counted"),
        (IDS, {"oracle": "krr"}, "canopy", "ids", "the oracle 'krr' counts lists of candidates"),
        (IDS, {"oracle": "olh"}, "canopy", "ids", "the oracle 'olh' counts lists of candidates"),
        (IDS, {"oracle": "walsh"}, "panorama", "ids", AT_ONCE),
        (LONG_IDS, {"encoding": "ids"}, "canopy", "ids", "most ids have more than 26 bits"),
        (WORDS, {"settings": {"upload_budget": 60_000}}, "canopy", "words", "bits are too few for a party to send"),
        (
            IDS,
            {"parties": 6, "settings": {"upload_budget": 6_000}},
            "canopy",
            "ids",
            "bits are too few for a party to name",
        ),
        (IDS, {"settings": {"upload_budget": 60_000}}, "panorama", "ids", AT_ONCE),
        (WORDS, {"strategy": "trie"}, "canopy", "words", "the strategy 'trie' was asked for"),
        (IDS, {"strategy": "hashed"}, "panorama", "hashed", "the strategy 'hashed' was asked for"),
        (IDS, {"strategy": "panorama"}, "panorama", "ids", "the strategy 'panorama' was asked for"),
        (WORDS, {"strategy": "catalogue", "catalogue": LIST}, "panorama", "catalogue", "was asked for"),
    ],
)
def test_what_is_given_decides(
    ahead: ItemsAhead, asked: dict[str, Any], mechanism: str, encoding: str, reason: str
) -> None:
    strategy = chosen(ahead, **asked)
    assert (strategy.mechanism.name, strategy.codec.name) == (mechanism, encoding)
    assert reason in strategy.reason
    assert strategy.choices[-1] == Note("chosen_because", reason=strategy.reason)
    assert strategy.codec.bits == strategy.parameters.bits


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"strategy": "catalogue"}, "the strategy 'catalogue' expects a catalogue, found none"),
        ({"strategy": "hashed", "mechanism": "taps"}, "'hashed' has no use for the mechanism 'taps'"),
        ({"strategy": "hashed", "encoding": "words"}, "'hashed' has no use for the encoding 'words'"),
        ({"strategy": "hashed", "encoding": "ids"}, "'hashed' has no use for the encoding 'ids'"),
        ({"strategy": "panorama", "encoding": "text"}, "'panorama' has no use for the encoding 'text'"),
        ({"mechanism": "panorama", "encoding": "words"}, "'panorama' has no use for the encoding 'words'"),
        ({"encoding": "ids", "word_list": LIST}, "'panorama' has no use for the encoding 'ids'"),
        ({"strategy": "trie", "mechanism": "panorama"}, "'trie' has no use for the mechanism 'panorama'"),
        ({"strategy": "trie", "word_list": LIST}, "'trie' has no use for a word list"),
        ({"mechanism": "canopy", "text_recovery": True}, "'trie' has no use for text recovery"),
        ({"strategy": "trie", "catalogue": LIST}, "'trie' has no use for a catalogue"),
        ({"catalogue": LIST, "mechanism": "taps"}, "with a catalogue nothing is searched or encoded"),
        ({"catalogue": LIST, "encoding": "hashed"}, "found the encoding 'hashed': leave it out"),
        ({"catalogue": LIST, "word_list": LIST}, "found a word list: leave it out"),
        ({"encoding": "words", "settings": {"bits": 3}}, "setting 'bits' expects"),
    ],
)
def test_what_a_strategy_cannot_use_is_refused(asked: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        chosen(**asked)


def test_long_ids_cannot_be_counted_as_they_are() -> None:
    with pytest.raises(InvalidInput, match=r"ids that are counted as they are must be below 2\^26, found longer ones"):
        chosen(LONG_IDS, mechanism="panorama", encoding="ids")


def test_unknown_names_are_refused() -> None:
    with pytest.raises(UnknownName, match="unknown strategy 'tree', expected one of panorama, trie, catalogue, hashed"):
        Query(strategy="tree")
    with pytest.raises(UnknownName, match="unknown step of normalisation 'lower'"):
        Query(normalise="lower")


def test_an_encoding_knows_its_own_bits() -> None:
    with pytest.raises(InvalidInput, match="the setting 'bits' is 16, found an encoding of 8 bits"):
        chosen(encoding=Ids(8), settings={"bits": 16})


class TestNames:
    def test_bits_follow_the_items(self) -> None:
        assert [code_bits_for(items) for items in (0, 100_000, 100_001)] == [24, 24, 26]
        assert chosen(settings={"expected_items": 200_000}).codec.bits == 26
        assert chosen(ItemsAhead(("17", str((1 << 26) - 2)))).codec.bits == 26
        assert chosen(IDS, settings={"bits": 12}).codec.bits == 12

    def test_the_key_is_that_of_the_query_unless_told(self) -> None:
        assert chosen().parameters.hash_key == "drawn"
        assert chosen(settings={"hash_key": "mine"}).parameters.hash_key == "mine"
        assert chosen().codec.encode(["x"]).codes != chosen(settings={"hash_key": "mine"}).codec.encode(["x"]).codes

    def test_texts_are_recovered_unless_told(self) -> None:
        assert panorama(chosen()).texts
        assert panorama(chosen(word_list=LIST)).texts
        assert not panorama(chosen(text_recovery=False)).texts
        assert not panorama(chosen(IDS)).texts

    def test_chunks_make_room_for_the_texts_that_are_known(self) -> None:
        long = ItemsAhead((*(f"word {number}" for number in range(8)), *("https://example.org/" + "path/" * 9,) * 2))
        assert panorama(chosen(long)).texts
        found = chosen(long).parameters
        assert isinstance(found, PanoramaParameters)
        assert 30 < found.text_chunks <= 64
        for fewer in (chosen(), chosen(NOTHING), chosen(long, settings={"text_chunks": 12})):
            assert isinstance(fewer.parameters, PanoramaParameters)
            assert fewer.parameters.text_chunks == 12

    def test_lists_are_normalised_as_items_are(self) -> None:
        given = ItemCatalogue(("Ash", "ASH", "elm"))
        strategy = chosen(word_list=given, normalise="casefold")
        assert panorama(strategy).listed.texts is not None
        assert sorted(panorama(strategy).listed.texts or ()) == [b"ash", b"elm"]
        assert len(panorama(chosen(catalogue=given, normalise="casefold")).listed) == 2

    def test_it_is_said_which_list_names_are_read_from(self) -> None:
        for words, ordered in ((LIST, False), (ORDERED, True)):
            note = Note("names_from_list", source="the list that was given", words=2, ordered=ordered)
            assert note in chosen(word_list=words).choices
        assert not any(choice.code == "names_from_list" for choice in chosen(catalogue=LIST).choices)


def test_another_week_of_the_same_items_takes_the_same_encoding() -> None:
    searched = chosen(mechanism="taps")
    assert searched.settled_encoding is searched.codec
    assert chosen(catalogue=LIST).settled_encoding is None
    assert chosen().settled_encoding == "hashed"
    assert chosen(IDS).settled_encoding == "ids"


class TestWhatIsSaid:
    def test_of_hashes_ids_and_catalogues(self) -> None:
        hashed = chosen().choices
        assert hashed[0] == Note("panorama_reports", bits=24, hashed=True, oracle="walsh", text_share=0.3, chunks=12)
        assert (hashed[1].code, round(hashed[1].parameters["bits"], -3)) == ("panorama_upload", 1_499_000)
        many = chosen(settings={"expected_items": 80_000}).choices
        assert (many[1].code, many[1].parameters["items"]) == ("hashes_shared", 80_000)
        ids = chosen(IDS).choices[0]
        assert (ids.parameters["bits"], ids.parameters["hashed"], ids.parameters["text_share"]) == (24, False, 0)
        assert chosen(catalogue=LIST).choices[0] == Note("panorama_catalogue", items=2, oracle="krr")

    def test_a_budget_that_list_and_texts_exceed_is_noted(self) -> None:
        small = chosen(word_list=LIST, settings={"upload_budget": 5_000})
        (note,) = small.mechanism.notes.of_parameters(small.parameters)
        assert (note.code, note.parameters["budget"]) == ("upload_budget_exceeded", 5_000)
        for strategy in (chosen(word_list=LIST, settings={"upload_budget": 900_000}), chosen(), chosen(catalogue=LIST)):
            assert strategy.mechanism.notes.of_parameters(strategy.parameters) == ()

    def test_shared_hashes(self) -> None:
        assert shared_hash_chance(1, 24) == 0
        assert shared_hash_chance(100_001, 24) == pytest.approx(100_000 / 2**24, rel=0.01)


class TestBudget:
    def plan(self, budget: int, *, texts: bool = True) -> PanoramaPlan:
        parameters = PanoramaParameters(10, Epsilon(2), upload_budget=budget)
        return PanoramaPlan.of(parameters, 0, signed=False, discovers=True, texts=texts)

    def test_more_parties_need_a_larger_one(self) -> None:
        """What all of them see together each of many hardly sees: a name is lost if nobody names it."""
        assert [parties for parties in (1, 2, 6, 12, 40) if self.plan(250_000).overlooks(24, parties)] == [12, 40]
        assert [parties for parties in (1, 2, 6, 12, 40) if self.plan(1_500_000).overlooks(24, parties)] == []
        assert chosen(parties=40, settings={"upload_budget": 250_000}).mechanism.name == "canopy"
        assert chosen(parties=6, settings={"upload_budget": 250_000}).mechanism.name == "panorama"

    @pytest.mark.parametrize("budget", [250_000, 600_000, 1_500_000])
    def test_it_is_kept_and_used(self, budget: int) -> None:
        parameters = PanoramaParameters(10, Epsilon(2), upload_budget=budget)
        assert 0.99 * budget < self.plan(budget).expected_bits(parameters, 0, signed=False) <= budget

    def test_a_catalogue_sends_its_counts_alone(self) -> None:
        parameters = PanoramaParameters(10, Epsilon(2))
        plan = PanoramaPlan.of(parameters, 1000, signed=True, discovers=False, texts=False)
        assert plan.expected_bits(parameters, 1000, signed=True) == 3_400 + 40 * 32


@pytest.mark.parametrize("mechanism", [None, "panorama", "canopy"])
def test_some_mechanisms_take_reports_on_several_items(mechanism: str | None) -> None:
    check_takes_sets(mechanism, 8)


@pytest.mark.parametrize("mechanism", ["fedpem", "gtf", "tap", "taps"])
def test_the_mechanisms_of_the_paper_refuse_sets(mechanism: str) -> None:
    with pytest.raises(InvalidInput, match=f"{mechanism} asks every user for the one item that she holds"):
        check_takes_sets(mechanism, 8)
