import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.support.every_command import app
from tests.support.report_batches import KEYS, KINDS, asking, random_reports, written
from typer.testing import CliRunner

from treetop.adapters.report_files.counting import count_file
from treetop.errors import InvalidInput, TreetopError, UnknownName
from treetop.oracles.random_words import GeneratorWords
from treetop.oracles.registry import find_oracle
from treetop.privacy.epsilon import Epsilon


def ran(*arguments: object) -> str:
    result = CliRunner().invoke(app, ["count", *map(str, arguments)], catch_exceptions=False)
    assert result.exit_code == 0
    return result.stdout


@pytest.fixture
def slots(tmp_path: Path) -> Path:
    return written(tmp_path / "krr.parquet", KINDS["krr"], random_reports(KINDS["krr"], 500))


def test_slots_are_counted_as_json_and_as_a_table(slots: Path) -> None:
    told = json.loads(ran(slots, "--json"))
    tally = count_file(slots, asking(KINDS["krr"]))
    assert (told["oracle"], told["level"], told["slots"], told["reports"]) == ("krr", 3, 41, 500)
    assert list(told["support"].values()) == tally.support.tolist()
    assert "500 reports" in ran(slots, "--threads", 1)


def test_keys_of_candidates_come_from_a_file(tmp_path: Path) -> None:
    file = written(tmp_path / "olh.parquet", KINDS["olh"], random_reports(KINDS["olh"], 500))
    (tmp_path / "keys.txt").write_text("\n".join(map(str, KEYS.tolist())))
    told = json.loads(ran(file, "--candidates", tmp_path / "keys.txt", "--json"))
    tally = count_file(file, asking(KINDS["olh"]))
    assert told["support"] == dict(zip(map(str, KEYS.tolist()), tally.support.tolist(), strict=True))


def test_names_that_stand_out_are_shown(tmp_path: Path) -> None:
    """3,000 devices hold one of two names and 6,000 others one each; at epsilon 4 both stand out of 2^14."""
    oracle, randomness = find_oracle("walsh").over(Epsilon(4), 2), np.random.default_rng(1)
    values = np.concatenate([np.repeat([77, 16_000], [2000, 1000]), randomness.integers(1 << 14, size=6000)])
    columns = oracle.perturb(values.astype(np.uint64), GeneratorWords(randomness))
    file = written(tmp_path / "walsh.parquet", replace(KINDS["walsh"], slots=64), columns)
    told = json.loads(ran(file, "--bits", 14, "--json"))
    assert list(told["support"]) == ["77", "16000"]
    assert told["support"]["77"] == oracle.tally(columns, np.array([77], dtype=np.uint64)).support[0]
    assert len(json.loads(ran(file, "--bits", 14, "--above", 2, "--json"))["support"]) > 100
    assert "9,000 reports" in ran(file, "--bits", 14)


@pytest.mark.parametrize(
    ("arguments", "error", "problem"),
    [
        (["--engine", "spark"], UnknownName, "unknown engine 'spark'"),
        (["--engine", "dask"], InvalidInput, "needs --scheduler"),
        (["--candidates", "missing.txt"], InvalidInput, "whole numbers below 2"),
        (["--bits", "24"], InvalidInput, "krr does not count every name of 24 bits: only walsh does"),
    ],
)
def test_bad_input_is_refused(slots: Path, arguments: list[str], error: type[TreetopError], problem: str) -> None:
    with pytest.raises(error, match=problem):
        ran(slots, *arguments)


def test_an_engine_that_is_not_installed_is_named(slots: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "treetop.adapters.cupy.report_counting", None)
    with pytest.raises(InvalidInput, match=r"treetop-ldp\[gpu\]"):
        ran(slots, "--engine", "gpu")


def test_the_dask_engine_is_reached_by_address(slots: Path) -> None:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as cluster:
        told = json.loads(ran(slots, "--engine", "dask", "--scheduler", cluster.scheduler_address, "--json"))
    assert told["reports"] == 500
