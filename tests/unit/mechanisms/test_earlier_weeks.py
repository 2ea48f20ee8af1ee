import numpy as np

from treetop.encoding.item_codecs import ItemCatalogue
from treetop.mechanisms.earlier_weeks import SOURCE, EarlierWeeks
from treetop.mechanisms.query import Query
from treetop.mechanisms.strategy import ItemsAhead, choose
from treetop.trie.global_ranking import GlobalRanking, ReadText
from treetop.trie.seeds import SEEDS, Seeds


def ranking(*texts: str | None) -> GlobalRanking:
    read = np.empty(len(texts), dtype=object)
    read[:] = [None if text is None else ReadText(text.encode(), "recovered") for text in texts]
    zeros = np.zeros(len(texts))
    return GlobalRanking(zeros.astype(np.uint64), zeros, zeros, zeros.astype(np.int64), texts=read)


def test_names_are_remembered_the_newest_first() -> None:
    weeks = EarlierWeeks().followed_by(ranking("chai", None, "latte")).followed_by(ranking("cocoa", "chai"))
    assert weeks.names == ("cocoa", "chai", "latte")
    many = EarlierWeeks(tuple(map(str, range(SEEDS)))).followed_by(ranking("chai"))
    assert (len(many.names), many.names[0]) == (SEEDS, "chai")


def test_the_newest_seeds_are_enough() -> None:
    codes = GlobalRanking(np.empty(0), np.empty(0), np.empty(0), np.empty(0, dtype=np.int64), seeds=Seeds((7,), (0.1,)))
    weeks = EarlierWeeks(seeds=Seeds((3,), (0.0,))).followed_by(codes)
    assert weeks == EarlierWeeks((), Seeds((7,), (0.1,)))
    asked = weeks.asking(Query(mechanism="canopy", settings={"bits": 8}))
    assert asked.settings == {"bits": 8, "seeds": "7=0.100000"}
    strategy = choose(asked, ItemsAhead(), parties=2, hash_key="key")
    assert strategy.parameters.seeds == Seeds((7,), (0.1,))  # type: ignore[attr-defined]


def test_names_join_the_list_of_the_next_week() -> None:
    weeks, plain = EarlierWeeks(("chai", "latte")), Query()
    assert EarlierWeeks().asking(plain) is plain
    alone = weeks.asking(plain).word_list
    assert alone == ItemCatalogue(("chai", "latte"), ordered=True, source=SOURCE)
    words = ItemCatalogue(("tea", "chai"), source="words.txt")
    joined = weeks.asking(Query(word_list=words)).word_list
    assert joined == ItemCatalogue(("chai", "latte", "tea"), source=f"{SOURCE} and words.txt")
    strategy = choose(weeks.asking(plain), ItemsAhead(), parties=2, hash_key="key")
    assert sorted(strategy.mechanism.listed.texts) == [b"chai", b"latte"]  # type: ignore[attr-defined]
    assert any(choice.parameters.get("source") == SOURCE for choice in strategy.choices)
