import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.support.populations import three_parties, zipf
from tests.support.refusals import refused

import treetop
from treetop.answers.result_files import checked_output
from treetop.encoding.item_codecs import Ids
from treetop.errors import InvalidInput, TreetopWarning, UnknownName
from treetop.evaluation.evaluate import Evaluation, Experiment
from treetop.evaluation.grid import Grid, cells_of, execute_cells, run_some
from treetop.mechanisms.gtf import Gtf
from treetop.oracles.krr import KRandomizedResponse
from treetop.wording import Note

DATA = {"a": zipf(6000, 40), "b": zipf(3000, 30)}
SMALL: dict[str, Any] = {"encoding": "ids", "bits": 8, "levels": 4}
COLUMNS = [
    "data", "mechanism", "oracle", "encoding", "epsilon", "k", "levels", "repeats", "f1", "f1_se", "ncr", "ncr_se",
    "local_recall", "uplink_bits", "seconds",
]  # fmt: skip


def without_seconds(evaluation: Evaluation) -> list[dict[str, Any]]:
    return [{name: value for name, value in row.items() if name != "seconds"} for row in evaluation.to_json()]


def grid(repeats: int = 7) -> Grid:
    return Grid(cells_of(["tap", "fedpem"], ["krr"], [1.0, 3.0], [3], {"bits": 8, "levels": 4}), repeats, seed=5)


def experiment(repeats: int = 7) -> Experiment:
    return Experiment((three_parties(),) * len(grid().cells), grid(repeats), ())


def test_an_evaluation_is_a_table_with_its_seed() -> None:
    mechanisms = ["fedpem", "gtf", "tap", "taps"]
    evaluation = treetop.evaluate(DATA, mechanisms=mechanisms, ks=[2, 3], repeats=3, seed=4, **SMALL)
    table = evaluation.table
    assert table.column_names == COLUMNS
    assert table.num_rows == len(evaluation.rows) == 8
    assert table.schema.metadata[b"seed"] == b"4"
    assert (evaluation.seed, evaluation.notes) == (4, ())
    assert set(table["encoding"].to_pylist()) == {"ids"}
    assert set(table["oracle"].to_pylist()) == {"auto"}
    assert evaluation.to_pandas()["mechanism"].tolist() == table["mechanism"].to_pylist()
    assert repr(evaluation).startswith("Evaluation(8 rows, seed 4; best F1 ")
    assert repr(Evaluation((), (), 4)) == "Evaluation(0 rows, seed 4)"


def test_find_is_the_first_repetition() -> None:
    answer = treetop.find(DATA, k=3, epsilon=3, mechanism="tap", seed=5, **SMALL)
    table = treetop.evaluate(DATA, mechanisms=["tap"], ks=[3], epsilons=[3], repeats=1, seed=5, **SMALL).table
    assert answer.truth is not None
    assert table["f1"].to_pylist() == [answer.truth.f1]
    assert table["f1_se"].to_pylist() == [None]


def test_notes_are_kept_and_each_is_one_warning() -> None:
    with pytest.warns(TreetopWarning) as caught:
        evaluation = treetop.evaluate(
            {"a": DATA["a"]}, mechanisms=["gtf", "tap"], ks=[2, 3], repeats=1, seed=1, beta=0.2, **SMALL
        )
    assert evaluation.notes == (
        Note("setting_unused", mechanism="gtf", setting="beta"),
        Note("setting_unused", mechanism="tap", setting="beta"),
        Note("nobody_to_share_with", mechanism="tap"),
    )
    assert [str(warning.message) for warning in caught] == [note.text for note in evaluation.notes]
    assert {warning.filename for warning in caught} == {__file__}


class Mine(Gtf):
    name = "mine"


def test_mechanisms_oracles_and_encodings_may_be_objects() -> None:
    named: dict[str, Any] = {"mechanisms": ["gtf"], "oracles": ["krr"], "encoding": "ids"}
    mine = Mine()
    objects: dict[str, Any] = {"mechanisms": [mine], "oracles": [KRandomizedResponse()], "encoding": Ids(8)}
    common: dict[str, Any] = {"ks": [3], "repeats": 2, "seed": 1, "levels": 4}
    by_name = without_seconds(treetop.evaluate(DATA, bits=8, **named, **common))
    by_object = without_seconds(treetop.evaluate(DATA, **objects, **common))
    assert by_object == [{**by_name[0], "mechanism": "mine"}]


WORDS = {"a": {"ash": 9000, "oak": 5000, "elm": 3000, "yew": 800}, "b": {"ash": 4000, "oak": 5000, "fir": 600}}


def test_panorama_stands_beside_the_others_with_lists_and_texts() -> None:
    mechanisms = ["canopy", "panorama", "panorama:list", "panorama:texts", "panorama:catalogue"]
    evaluation = treetop.evaluate(
        WORDS, mechanisms=mechanisms, ks=[1], epsilons=[6], repeats=2, seed=4, word_list=["ash", "elm"]
    )
    rows = evaluation.rows
    assert [(row.mechanism, row.encoding) for row in rows] == [
        ("canopy", "words"), ("panorama", "hashed"), ("panorama:list", "hashed"), ("panorama:texts", "hashed"),
        ("panorama:catalogue", "catalogue"),
    ]  # fmt: skip
    assert all(row.f1 == 1 for row in rows)
    assert rows[4].uplink_bits < 1000 < rows[2].uplink_bits  # of a catalogue nothing else is looked for


def test_find_is_the_first_repetition_of_panorama_too() -> None:
    asked: dict[str, Any] = {"word_list": ["ash", "elm"], "text_recovery": False, "seed": 5, "bits": 16}
    answer = treetop.find(WORDS, k=3, epsilon=1, **asked)
    evaluation = treetop.evaluate(WORDS, mechanisms=["panorama"], ks=[3], epsilons=[1], repeats=1, **asked)
    assert answer.truth is not None
    (row,) = evaluation.rows
    assert (row.f1, row.uplink_bits) == (answer.truth.f1, sum(p.uplink_bits for p in answer.parties) / 2)


@pytest.mark.filterwarnings("ignore::treetop.errors.TreetopWarning")
def test_ids_of_a_trie_are_longer_than_names_and_lists_need_an_oracle_that_hashes() -> None:
    evaluation = treetop.evaluate(
        DATA, mechanisms=["gtf", "panorama", "panorama:catalogue"], oracles=["krr", "walsh"], ks=[2], repeats=1, seed=4,
        encoding="ids", bits=32, levels=4,
    )  # fmt: skip
    assert [(row.mechanism, row.oracle) for row in evaluation.rows] == [
        ("gtf", "krr"), ("gtf", "walsh"), ("panorama", "walsh"), ("panorama:catalogue", "krr"),
        ("panorama:catalogue", "walsh"),
    ]  # fmt: skip
    assert evaluation.rows[2].encoding == "ids"
    assert Note("panorama_not_run_with", oracles=["krr"]) in evaluation.notes
    with refused("panorama_oracle", InvalidInput, found="krr"):
        cells_of(["panorama"], ["krr"])


@pytest.mark.parametrize(
    ("mechanisms", "given", "reason"),
    [
        (["panorama:list"], {}, "panorama:list expects a word list, found none"),
        (["panorama:texst"], {}, "did you mean 'texts'"),
        (["canopy:texts"], {}, "variants are those of panorama, found 'canopy:texts'"),
        (["panorama:texts", "panorama:texts"], {}, "none twice"),
        (["canopy"], {"word_list": ["ash"]}, "are for panorama, found other mechanisms only"),
        (["canopy"], {"text_recovery": False}, "are for panorama, found other mechanisms only"),
        (["canopy"], {"catalogue": ["ash"]}, "are for panorama, found other mechanisms only"),
    ],
)
def test_variants_that_make_no_sense_are_refused(mechanisms: list[str], given: dict[str, Any], reason: str) -> None:
    with pytest.raises(InvalidInput, match=reason):
        treetop.evaluate(WORDS, mechanisms=mechanisms, ks=[1], repeats=1, **given)


@pytest.mark.filterwarnings("ignore::treetop.errors.TreetopWarning")
def test_a_catalogue_is_for_panorama_and_texts_are_normalised() -> None:
    loud = {"a": {"ASH": 400, "ash": 500, "oak": 500, "elm": 300}, "b": {"Ash": 400, "oak": 100, "fir": 60}}
    evaluation = treetop.evaluate(
        loud, mechanisms=["panorama"], ks=[1], epsilons=[6], repeats=1, seed=4, catalogue=["Ash", "oak"],
        normalise="casefold",
    )  # fmt: skip
    assert (evaluation.rows[0].encoding, evaluation.rows[0].f1) == ("catalogue", 1)


def test_progress_is_told_of_every_run() -> None:
    finished: list[int] = []
    treetop.evaluate(DATA, mechanisms=["gtf"], ks=[2, 3], repeats=7, seed=4, progress=finished.append, **SMALL)
    assert sum(finished) == 14


def test_the_numbers_do_not_depend_on_the_number_of_workers() -> None:
    finished: dict[int, list[int]] = {1: [], 2: []}
    alone, together = (
        experiment().evaluation(dict(experiment().rows(workers, done.append))) for workers, done in finished.items()
    )
    assert [sum(done) for done in finished.values()] == [28, 28]
    assert without_seconds(alone) == without_seconds(together)


def test_a_repetition_does_not_depend_on_how_many_there_are() -> None:
    def third(repeats: int) -> tuple[float, ...]:
        score = run_some([three_parties()], grid(repeats), (0, range(3, 4)))[3]
        return (score.f1, score.ncr, score.local_recall, score.uplink_bits)

    assert third(7) == third(10)


def test_bad_grids_are_refused() -> None:
    with refused("repeats_invalid", InvalidInput, repeats=0):
        Grid(cells_of(), 0, 1)
    with refused("grid_values", InvalidInput, what="mechanisms", names="tap, tap"):
        cells_of(["tap", "tap"])
    with refused("unknown_name", UnknownName, kind="mechanism", found="tpas", nearest="taps"):
        cells_of(["tpas"])
    with refused("workers_invalid", InvalidInput, workers=0):
        next(execute_cells([three_parties()] * 4, grid(), 0))
    with refused("k_too_large", InvalidInput, distinct=40, others="", k=1000000):
        next(execute_cells([three_parties()] * 6, Grid(cells_of(ks=[10**6]), 1, 1)))


def test_rows_are_written_whole_and_in_the_order_of_the_grid(tmp_path: Path) -> None:
    rows = dict(experiment(2).rows())
    evaluation = experiment(2).evaluation(dict(reversed(rows.items())))
    assert [(row.mechanism, row.epsilon) for row in evaluation.rows] == [
        ("tap", 1.0), ("tap", 3.0), ("fedpem", 1.0), ("fedpem", 3.0),
    ]  # fmt: skip
    for name in ("rows.parquet", "rows.csv", "rows.json", "rows.html"):
        evaluation.write(tmp_path / name)
    read = pa.parquet.read_table(tmp_path / "rows.parquet")
    assert read.equals(evaluation.table)
    assert read.schema.metadata[b"seed"] == b"5"
    assert (tmp_path / "rows.csv").read_text().splitlines()[0].replace('"', "").split(",") == COLUMNS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv", "rows.html", "rows.json", "rows.parquet"]
    assert json.loads((tmp_path / "rows.json").read_text()) == evaluation.to_json()
    assert (tmp_path / "rows.html").read_text().count("<tr>") == 5


def test_outputs_that_could_not_be_written_are_refused_first(tmp_path: Path) -> None:
    for path in (tmp_path / "x.txt", tmp_path / "no" / "x.csv"):
        with pytest.raises(InvalidInput):
            checked_output(path)
    assert checked_output(tmp_path / "x.csv") == tmp_path / "x.csv"


UNGUARDED = """
import sys, treetop
print("begun", __name__)
found = treetop.evaluate(
    {"a": {"x": 900, "y": 90}, "b": {"x": 500}}, mechanisms="fedpem", ks=1, oracles="krr", repeats=6, workers=2, seed=1
)
print([row.f1 for row in found.rows], __file__ == sys.argv[0])
"""


def test_several_workers_need_no_guard(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, "-W", "ignore", program], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["begun __main__", "[1.0] True"], done.stderr


class TestSets:
    """Users who hold several items are asked as `find` asks them."""

    def rows(self) -> pa.Table:
        users = range(3000)
        items = [["chai", "latte"] if user % 3 else ["cocoa", "chai", "mocha"] for user in users]
        columns = [("a" if user % 2 else "b", f"u{user}", item) for user in users for item in items[user]]
        return pa.table({name: [row[place] for row in columns] for place, name in enumerate(("party", "user", "item"))})

    def test_mechanisms_that_take_sets_are_run(self) -> None:
        asked = {"user": "user", "seed": 1, "items_per_user": 4}
        evaluation = treetop.evaluate(self.rows(), ks=[2], epsilons=[6], repeats=1, **asked)  # type: ignore[arg-type]
        assert [row.mechanism for row in evaluation.rows] == ["canopy", "panorama"]
        for row in evaluation.rows:  # the first repetition is what `find` gives
            answer = treetop.find(self.rows(), k=2, epsilon=6, mechanism=row.mechanism, **asked)  # type: ignore[arg-type]
            assert answer.truth is not None
            assert row.f1 == answer.truth.f1
        assert evaluation.rows[0].f1 == 1.0

    def test_one_item_of_a_set_is_for_every_mechanism(self) -> None:
        asked = {"user": "user", "ks": [1], "epsilons": [6], "repeats": 1, "seed": 1, "items_per_user": 1}
        (row,) = treetop.evaluate(self.rows(), mechanisms=["gtf"], **asked).rows  # type: ignore[arg-type]
        assert row.f1 == 1.0

    def test_what_cannot_be_asked_is_refused(self) -> None:
        with refused("mechanism_without_sets", InvalidInput, mechanism="taps", items=8):
            treetop.evaluate(self.rows(), user="user", mechanisms=["taps"], repeats=1)
        with refused("items_per_user_auto_unsettled", InvalidInput, auto_items="auto"):
            treetop.evaluate(self.rows(), user="user", items_per_user="auto")  # type: ignore[arg-type]
        with refused("data_without_sets", InvalidInput, found="items_per_user = 3"):
            treetop.evaluate({"a": {"chai": 5}}, items_per_user=3)
