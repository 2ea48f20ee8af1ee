from pathlib import Path
from typing import Any

import matplotlib
import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.support.populations import three_parties, zipf

import treetop
from treetop.errors import InvalidInput, UnknownName
from treetop.evaluation.execute import execute, run_some
from treetop.evaluation.grid import Grid, cells_of
from treetop.evaluation.results import Row, checked_output, table_of, write

DATA = {"a": zipf(6000, 40), "b": zipf(3000, 30)}
SMALL: dict[str, Any] = {"encoding": "ids", "bits": 8, "levels": 4}
COLUMNS = [
    "data", "mechanism", "oracle", "encoding", "epsilon", "k", "levels", "repeats", "f1", "f1_se", "ncr", "ncr_se",
    "local_recall", "uplink_bits", "seconds",
]  # fmt: skip


def without_seconds(rows: list[Row]) -> list[tuple[Any, ...]]:
    return [tuple(value for name, value in vars(row).items() if name != "seconds") for row in rows]


def grid(repeats: int = 7) -> Grid:
    return Grid(cells_of(["tap", "fedpem"], ["krr"], [1.0, 3.0], [3], {"bits": 8, "levels": 4}), repeats, seed=5)


def test_find_answers_with_error_bars() -> None:
    answer = treetop.find(DATA, k=3, epsilon=4, seed=1, **SMALL)
    assert (answer.mechanism, answer.encoding, answer.seed, answer.users) == ("canopy", "ids", 1, answer.users)
    assert len(answer.items) == 3
    assert all(row.stderr > 0 and row.frequency == row.count / answer.users for row in answer.items)
    assert [party.name for party in answer.parties] == ["a", "b"]
    assert len(answer.parties[0].trace) == 1
    columns = ["item", "count", "frequency", "stderr", "parties", "true_count", "significant"]
    assert answer.to_arrow().column_names == columns
    assert answer.to_pandas()["item"].tolist() == [row.item for row in answer.items]


def test_the_same_seed_gives_the_same_json_and_none_is_drawn_when_given() -> None:
    first, again = (treetop.find(DATA, k=3, seed=9, **SMALL).to_json() for _ in range(2))
    assert first == again
    drawn = treetop.find(DATA, k=3, **SMALL).seed
    assert 0 <= drawn < 2**32


def test_find_is_the_first_repetition_of_evaluate() -> None:
    answer = treetop.find(DATA, k=3, epsilon=3, oracle="krr", mechanism="tap", seed=5, **SMALL)
    table = treetop.evaluate(DATA, mechanisms=["tap"], ks=[3], epsilons=[3], repeats=1, seed=5, **SMALL)
    assert table["f1"].to_pylist() == [answer.truth.f1]
    assert table["f1_se"].to_pylist() == [None]


def test_notes_tell_of_unused_settings_and_of_being_alone() -> None:
    answer = treetop.find({"a": DATA["a"]}, k=3, mechanism="tap", beta=0.2, seed=1, **SMALL)
    assert answer.notes == (
        "tap does not use the setting 'beta'",
        "tap: there is one party only and nobody to share with",
    )
    assert treetop.find({"a": DATA["a"]}, k=3, mechanism="gtf", seed=1, **SMALL).notes == ()


def test_advice_comes_when_noise_swamps_the_last_item() -> None:
    assert treetop.find(DATA, k=10, epsilon=0.2, seed=1, **SMALL).advice is not None
    assert treetop.find(DATA, k=1, epsilon=8, seed=1, **SMALL).advice is None
    assert (
        treetop.find({"a": {"1": 3, "2": 2, "3": 1}}, k=3, mechanism="gtf", epsilon=3, seed=1, **SMALL).advice is None
    )


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"mechanism": "tapss"}, UnknownName),
        ({"oracle": "grr"}, UnknownName),
        ({"simulator": "real"}, UnknownName),
        ({"level": 3}, UnknownName),
        ({"k": 0}, InvalidInput),
        ({"k": 10**6}, InvalidInput),
        ({"epsilon": float("nan")}, InvalidInput),
        ({"seed": -1}, InvalidInput),
    ],
)
def test_bad_questions_are_refused(changes: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        treetop.find(DATA, **{"k": 3, **SMALL, **changes})


def test_evaluate_gives_a_table_with_its_seed() -> None:
    table = treetop.evaluate(DATA, ks=[2, 3], repeats=3, seed=4, **SMALL)
    assert table.column_names == COLUMNS
    assert table.num_rows == 10
    assert table.schema.metadata[b"seed"] == b"4"
    assert set(table["encoding"].to_pylist()) == {"ids"}


def test_the_numbers_do_not_depend_on_the_number_of_workers() -> None:
    crowd, finished = three_parties(), [0, 0]
    alone = list(execute(crowd, grid(), 1, lambda done: finished.__setitem__(0, finished[0] + done)))
    together = list(execute(crowd, grid(), 2, lambda done: finished.__setitem__(1, finished[1] + done)))
    assert finished == [28, 28]
    key = lambda row: (row[1], row[4])  # noqa: E731
    assert sorted(without_seconds(alone), key=key) == sorted(without_seconds(together), key=key)


def test_a_repetition_does_not_depend_on_how_many_there_are() -> None:
    def third(repeats: int) -> tuple[float, ...]:
        score = run_some(three_parties(), grid(repeats), 0, range(3, 4))[3]
        return (score.f1, score.ncr, score.local_recall, score.uplink_bits)

    assert third(7) == third(10)


def test_bad_grids_are_refused() -> None:
    with pytest.raises(InvalidInput, match="repeats must be"):
        Grid(cells_of(), 0, 1)
    with pytest.raises(InvalidInput, match="mechanisms must name one value at least and none twice, found tap, tap"):
        cells_of(["tap", "tap"])
    with pytest.raises(InvalidInput, match="workers must be"):
        next(execute(three_parties(), grid(), 0))
    with pytest.raises(InvalidInput, match="at most the"):
        next(execute(three_parties(), Grid(cells_of(ks=[10**6]), 1, 1)))


def test_rows_are_written_whole(tmp_path: Path) -> None:
    rows = list(execute(three_parties(), grid(2)))
    for name in ("rows.parquet", "rows.csv"):
        write(rows, 5, tmp_path / name)
    read = pa.parquet.read_table(tmp_path / "rows.parquet")
    assert read.equals(table_of(rows, 5))
    assert read.schema.metadata[b"seed"] == b"5"
    assert (tmp_path / "rows.csv").read_text().splitlines()[0].replace('"', "").split(",") == COLUMNS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.csv", "rows.parquet"]


def test_outputs_that_could_not_be_written_are_refused_first(tmp_path: Path) -> None:
    for path in (tmp_path / "x.txt", tmp_path / "no" / "x.csv"):
        with pytest.raises(InvalidInput):
            checked_output(path)
    assert checked_output(tmp_path / "x.csv") == tmp_path / "x.csv"


def test_an_answer_can_be_plotted() -> None:
    matplotlib.use("Agg")
    axes = treetop.find(DATA, k=3, seed=1, **SMALL).plot()
    assert len(axes.get_yticklabels()) == 3
    assert axes.get_xlabel() == "users"
    assert treetop.find(DATA, k=2, seed=1, **SMALL).plot(axes) is axes
    matplotlib.pyplot.close("all")


def test_the_package_offers_its_api_lazily() -> None:
    assert treetop.__version__
    assert all(getattr(treetop, name) for name in treetop.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        treetop.nothing  # noqa: B018
