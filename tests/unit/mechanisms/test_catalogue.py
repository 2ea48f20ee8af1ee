from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.support.refusals import refused

import treetop
from treetop.datasets.item_lists import load_catalogue
from treetop.encoding.item_codecs import ItemCatalogue, ListedItems
from treetop.errors import InvalidInput
from treetop.mechanisms.panorama.algorithm import ListReports, Panorama
from treetop.mechanisms.panorama.parameters import CatalogueParameters
from treetop.mechanisms.panorama.texts import CodeList
from treetop.oracles.frequency_oracle import Tally
from treetop.privacy.epsilon import Epsilon
from treetop.wording import Note

# Notes are looked at in the answer; that each is a warning, too, is tested with `find`.
pytestmark = pytest.mark.filterwarnings("ignore::treetop.errors.TreetopWarning")

ITEMS = [f"item {place}" for place in range(60)]
DATA = {
    "a": {item: 30_000 // (place + 1) for place, item in enumerate(ITEMS)},
    "b": {item: 20_000 // (place + 1) for place, item in enumerate(ITEMS)},
}


@pytest.mark.parametrize("simulator", ["exact", "devices"])
@pytest.mark.parametrize("oracle", ["auto", "krr", "oue", "olh", "walsh"])
@pytest.mark.parametrize("score", ["lower_confidence", "sum"])
def test_known_items_are_found_and_the_others_counted(simulator: str, oracle: str, score: str) -> None:
    answer = treetop.find(
        DATA, k=5, epsilon=4, oracle=oracle, catalogue=ITEMS[:20], seed=1, simulator=simulator, score=score
    )
    assert (answer.mechanism, answer.encoding) == ("panorama", "catalogue")
    assert [row.item for row in answer.items][:3] == ITEMS[:3]
    assert all(row.significant for row in answer.items[:3])
    outside = answer.outside
    assert outside is not None
    assert outside.true_share == pytest.approx(sum(50_000 // (p + 1) for p in range(20, 60)) / answer.users, abs=1e-3)
    assert outside.true_share is not None
    assert abs(outside.share - outside.true_share) < 6.2 * outside.stderr
    assert outside.stderr < 0.02
    assert any(note.code == "items_unfit" and note.parameters["items"] == 40 for note in answer.notes)
    assert (answer.choices[0].code, answer.choices[0].parameters["items"]) == ("panorama_catalogue", 20)
    assert set(answer.to_json()["outside"]) == {"share", "stderr", "true_share"}
    assert set(answer.parties[0].items) <= set(ITEMS[:20])


def over(size: int) -> Panorama:
    return Panorama(CodeList.of_codes(np.arange(size, dtype=np.uint64)), discovers=False, texts=False)


def test_a_tiny_catalogue_is_asked_by_krr_and_a_large_one_by_walsh() -> None:
    parameters = CatalogueParameters(2, Epsilon(2), bits=9)
    tiny = over(3).oracle(parameters)
    assert (tiny.name, tiny.slots) == ("krr", 4)
    assert over(300).oracle(parameters).name == "walsh"


def test_a_survey_speaks_of_its_list_and_of_nobody_else() -> None:
    listed = np.array([0, 1, 2], dtype=np.uint64)
    survey = ListReports(listed, Tally(np.array([5, 3, 2, 7]), 17))
    assert survey.kinds == (17,)
    assert survey.support(np.array([2, 255, 0], dtype=np.uint64)).tolist() == [2, 7, 5]
    assert survey.text_support(listed, np.zeros((3, 0), dtype=np.uint8)).tolist() == [5, 3, 2]
    names, support = survey.above(1, listed)
    assert (len(names), len(support)) == (0, 0)
    assert not survey.chunk_support(listed, 0).any()


def test_what_a_catalogue_fixes_is_no_setting() -> None:
    answer = treetop.find(DATA, k=2, seed=1, catalogue=ITEMS, bits=12, hash_key="salt", upload_budget=5)
    for name in ("bits", "hash_key", "upload_budget"):
        assert Note("setting_unused", mechanism="panorama", setting=name) in answer.notes


def test_a_full_catalogue_leaves_nobody_outside() -> None:
    answer = treetop.find(DATA, k=5, epsilon=4, catalogue=ITEMS, seed=1)
    assert answer.outside is not None
    assert answer.outside.true_share == 0
    assert answer.truth is not None
    assert answer.truth.f1 == 1


def test_duplicates_are_counted_and_said() -> None:
    answer = treetop.find(DATA, k=2, catalogue=[*ITEMS, *ITEMS[:3]], seed=1)
    assert Note("catalogue_repeats", items=3) in answer.notes


def test_what_makes_no_sense_is_refused() -> None:
    with refused("catalogue_option_unused", InvalidInput, found="the mechanism 'taps'"):
        treetop.find(DATA, catalogue=ITEMS, mechanism="taps")
    with refused("catalogue_option_unused", InvalidInput, found="the encoding 'words'"):
        treetop.find(DATA, catalogue=ITEMS, encoding="words")
    for unused, named in (({"word_list": ["tea"]}, "a word list"), ({"text_recovery": True}, "text recovery")):
        with refused("catalogue_option_unused", InvalidInput, found=named):
            treetop.find(DATA, catalogue=ITEMS, **unused)
    with refused("catalogue_empty", InvalidInput):
        treetop.find(DATA, catalogue=[])
    with pytest.raises(InvalidInput, match="abc: expected a .txt file or a file ending in .parquet, .*, found none"):
        treetop.find(DATA, catalogue="abc")
    with refused("no_item_fits", InvalidInput, title="the catalogue of 1 items", items="item 0"):
        treetop.find(DATA, catalogue=["tea"])


def test_codes_are_places_and_read_back() -> None:
    codec = ListedItems(("x", "y"))
    encoded = codec.encode(["y", "z", "x"])
    assert encoded.fits.tolist() == [True, False, True]
    assert encoded.codes[encoded.fits].tolist() == [1, 0]
    assert [codec.decode(code) for code in (0, 1, 2)] == ["x", "y", None]


def test_a_party_without_any_listed_item_takes_part() -> None:
    data = {**DATA, "c": {"other": 500}}
    for simulator in ("exact", "devices"):
        answer = treetop.find(data, k=2, catalogue=ITEMS, seed=1, simulator=simulator)
        assert answer.items[0].parties == 3


class TestFiles:
    def test_text_csv_and_parquet(self, tmp_path: Path) -> None:
        (tmp_path / "c.txt").write_text("tea\n\n coffee \ntea\n", encoding="utf-8")
        (tmp_path / "c.csv").write_text("item,price\ntea,1\ncoffee,2\n", encoding="utf-8")
        pa.parquet.write_table(pa.table({"item": ["tea", "coffee"]}), tmp_path / "c.parquet")
        for name in ("c.txt", "c.csv", "c.parquet"):
            assert load_catalogue(tmp_path / name).items == ("tea", "coffee")
        assert load_catalogue(tmp_path / "c.txt").notes == (Note("catalogue_repeats", items=1),)

    @pytest.mark.parametrize(
        ("name", "text", "reason"),
        [
            ("c.txt", "\n \n", "needs one item at least"),
            ("c.csv", "name\ntea\n", "expected the column 'item'"),
            ("c.csv", "item\n", "empty table"),
            ("c.json", "[]", "expected a file ending in .parquet, .csv, .*, found the ending '.json'"),
            ("c", "tea", "found the ending '\\(none\\)'"),
        ],
    )
    def test_refusals_name_the_file(self, tmp_path: Path, name: str, text: str, reason: str) -> None:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InvalidInput, match=reason) as refusal:
            load_catalogue(path)
        assert name in str(refusal.value)

    def test_absent_files_folders_and_other_bytes(self, tmp_path: Path) -> None:
        with pytest.raises(InvalidInput, match="found none"):
            load_catalogue(tmp_path / "c.txt")
        (tmp_path / "d.txt").mkdir()
        with pytest.raises(InvalidInput, match="found a folder"):
            load_catalogue(tmp_path / "d.txt")
        (tmp_path / "e.txt").write_bytes(b"\xff\xfe\x00")
        with pytest.raises(InvalidInput, match="line 1: expected text in utf-16, found the byte 0x00"):
            load_catalogue(tmp_path / "e.txt")

    def test_numbers_are_items_too(self) -> None:
        assert ItemCatalogue.of(np.array([3, 1, 3])).items == ("3", "1")


def test_one_text_is_no_list_of_items() -> None:
    with refused("catalogue_is_text", InvalidInput, listed="abc"):
        ItemCatalogue.of("abc")
