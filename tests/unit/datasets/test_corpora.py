import bz2
import gzip
import lzma
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from tests.support.refusals import refused

from treetop.datasets.build import Builder, Corpus, Recipe, RecipeParty, built_parties, histogram_table, read_recipe
from treetop.datasets.corpora import dealt_to_parties, every_click, one_item_each, one_word_each, records, sample, words
from treetop.datasets.loading import load, write_histograms
from treetop.errors import InvalidInput


def generator(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_words_are_runs_of_letters() -> None:
    text = "Don't visit https://a.example/b?c @someone &amp; <br/>the BEST café, ok? " + "x" * 21
    assert words(text) == ["dont", "visit", "the", "best", "caf"]


def test_every_record_gives_one_word_and_a_repeated_word_counts_once() -> None:
    records_of = ["aaa aaa aaa bbb"] * 4000 + ["12 !"]
    distinct = Counter(one_word_each(records_of, generator()))
    occurrences = Counter(one_word_each(records_of, generator(), distinct=False))
    assert distinct.total() == occurrences.total() == 4000
    assert abs(distinct["aaa"] - 2000) < 200
    assert abs(occurrences["aaa"] - 3000) < 200


def test_a_sample_is_without_replacement_and_even() -> None:
    items = [str(number) for number in range(100)]
    assert sample(items, None, generator()) == Counter(items)
    assert sample(items, 500, generator()) == Counter(items)
    drawn: Counter[str] = Counter()
    randomness = generator()
    for _ in range(500):
        once = sample(items, 10, randomness)
        assert set(once.values()) == {1}
        drawn += once
    assert drawn.total() == 5_000
    assert min(drawn.values()) > 15
    assert max(drawn.values()) < 90


def test_a_user_of_a_click_log_counts_once() -> None:
    clicks = [("u", "1"), ("u", "1"), ("v", "2"), ("u", "3")]
    found = one_item_each(clicks, generator())
    assert len(found) == 2
    assert found[0] in ("1", "3")
    assert found[1] == "2"
    assert list(every_click([("1",), ("1",)])) == ["1", "1"]


def test_a_log_is_dealt_to_parties() -> None:
    dealt = dealt_to_parties(["1"] * 30 + ["2"] * 30, {"a": 40, "b": 10}, generator())
    assert {name: held.total() for name, held in dealt.items()} == {"a": 40, "b": 10}


def test_records_of_every_format(tmp_path: Path) -> None:
    table = 'id,text\n1,"one, two"\n2,three\n'
    (tmp_path / "a.csv").write_text(table)
    (tmp_path / "b.tsv.gz").write_bytes(gzip.compress(b'text\tid\nsay "hi"\t3\n'))
    (tmp_path / "c.jsonl.xz").write_bytes(lzma.compress(b'{"text": "five", "id": 5}\n'))
    (tmp_path / "d.txt.bz2").write_bytes(bz2.compress(b"six\r\nseven\n"))
    paths = sorted(tmp_path.iterdir())
    found = [record[0] for record in records(paths, ["text"])]
    assert found == ["one, two", "three", 'say "hi"', "five", "six", "seven"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", b"id\n1\n", "corpus_column_missing"),
        ("a.jsonl", b'{"id": 1}\n', "corpus_line_malformed"),
        ("a.txt.gz", b"no gzip", "corpus_unreadable"),
        ("a.txt", b"\xff\xff", "corpus_unreadable"),
        ("a.pdf", b"", "corpus_ending"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with refused(message, InvalidInput):
        list(records([tmp_path / name], ["text"]))


def text_recipe(tmp_path: Path) -> Recipe:
    (tmp_path / "one.txt").write_text("red green\nblue blue\n" * 200)
    (tmp_path / "two.csv").write_text("body\nred\nred\ngrey\n")
    parties = (
        RecipeParty("one", Corpus(("one.txt",)), users=100),
        RecipeParty("two", Corpus(("two.csv",), column="body"), users=50),
    )
    return Recipe("rdb", "text", seed=4, parties=parties)


def test_a_recipe_of_texts_becomes_histograms(tmp_path: Path) -> None:
    recipe, heard = text_recipe(tmp_path), list[int]()
    builder = Builder(recipe, tmp_path, tmp_path / "downloads", counted=heard.append)
    counts = builder.build()
    assert [(party.users, party.asked) for party in built_parties(recipe, counts)] == [(100, 100), (3, 50)]
    assert sum(heard) == 403
    assert Builder(recipe, tmp_path, tmp_path).build() == counts
    table = histogram_table(counts, builder.checksums, recipe.seed)
    assert {b"seed", b"sha256 one.txt", b"sha256 two.csv"} <= set(table.schema.metadata)
    write_histograms(table, tmp_path / "rdb.parquet")
    assert load(tmp_path / "rdb.parquet").users == 103


def test_a_recipe_of_clicks_is_split(tmp_path: Path) -> None:
    lines = [f"{user},{user % 7}\n{user},{user % 5}\n" for user in range(1000)]
    (tmp_path / "log.csv").write_text("user,item\n" + "".join(lines))
    log = Corpus(("log.csv",), column="item", user_column="user")
    sizes = {"a": 600, "b": 300}
    counts = Builder(Recipe("uba", "clicks", log=log, split=sizes), tmp_path, tmp_path).build()
    assert {name: held.total() for name, held in counts.items()} == sizes
    every = Corpus(("log.csv",), column="item")
    counts = Builder(Recipe("uba", "clicks", log=every, split={"a": 2000}), tmp_path, tmp_path).build()
    assert counts["a"].total() == 2000


def test_corpora_must_be_there(tmp_path: Path) -> None:
    for corpus, message in ((Corpus(), "recipe_corpus"), (Corpus(("none*.txt",)), "corpus_missing")):
        recipe = Recipe("x", "text", parties=(RecipeParty("a", corpus),))
        with refused(message, InvalidInput):
            Builder(recipe, tmp_path, tmp_path).build()
    with refused("party_empty", InvalidInput, party="a"):
        histogram_table({"a": Counter()}, {}, 0)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "x"\nkind = "video"', "unknown kind of a recipe 'video'"),
        ('name = "x"\nkind = "text"', "either"),
        ('name = "x"\nkind = "text"\nitems = "all"', "unknown items of a recipe"),
        ('name = "x"\nkind = "text"\nlog = { files = ["a"] }\nsplit = { a = 1 }', "only a click log"),
        ('name = "x"\nkind = "text"\n[[parties]]\nname="a"\ncorpus={}\n[[parties]]\nname="a"\ncorpus={}', "of its own"),
        ('name = "x"\nkind = "text"\nspeed = 3', "unknown .*key 'speed'"),
    ],
)
def test_other_recipes_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    with pytest.raises(InvalidInput, match=message):
        read_recipe(path)
