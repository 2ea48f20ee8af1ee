"""`treetop reproduce` and `treetop build-data` as their users run them: real processes, kill -9, bad input."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from tests.support.histogram_folders import small_folder

RESULT_FILES = ("results.parquet", "runs.parquet", "report.md")
LIMIT = 240


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "treetop", *words]


def treetop(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command(*words), capture_output=True, text=True, check=False, timeout=LIMIT)
    assert "Traceback" not in done.stderr
    return done


def reproduce(data: Path, output: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return treetop("reproduce", "extension", "--data", str(data), "--output", str(output), "--repeats", "2", *words)


def cells(output: Path) -> int:
    path = output / "cells.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0


def killed_after(data: Path, output: Path, finished: int) -> None:
    """Start a run, and kill it with its workers once some more cells are finished."""
    words = ["reproduce", "extension", "--data", str(data), "--output", str(output), "--repeats", "2", "--seed", "8"]
    process = subprocess.Popen(
        command(*words, "--resume", "--workers", "2"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    deadline = time.monotonic() + LIMIT
    while cells(output) < finished and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait(LIMIT)
    assert process.returncode == -signal.SIGKILL


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system knows no SIGKILL")
def test_a_killed_run_goes_on_to_the_same_bytes(tmp_path: Path) -> None:
    data = small_folder(tmp_path / "data")
    done = reproduce(data, tmp_path / "whole", "--seed", "8", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["seed"], said["repeats"], said["missing"], said["substitutes"]) == (8, 2, ["YCM"], ["UBA"])
    assert [claim["name"] for claim in said["claims"]] == ["extension"] * 2
    for finished in (1, 4, 9):
        killed_after(data, tmp_path / "killed", finished)
    done = reproduce(data, tmp_path / "killed", "--resume")
    assert done.returncode == 0, done.stderr
    assert "cells are finished already" in done.stderr
    for name in RESULT_FILES:
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def refused(*words: str) -> str:
    done = treetop(*words)
    assert done.returncode == 2, done
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1
    return lines[0]


def test_bad_input_ends_in_one_clear_line(tmp_path: Path) -> None:
    data, output = small_folder(tmp_path / "data"), str(tmp_path / "out")
    options = ("--data", str(data), "--output", output)
    assert "did you mean 'step_size'?" in refused("reproduce", "step_sise", *options)
    assert "expected a folder of histograms" in refused("reproduce", "--data", "nowhere", "--output", output)
    assert "repeats" in refused("reproduce", *options, "--repeats", "0")
    assert "Missing option '--data'" in refused("reproduce", "--output", output)
    pa.parquet.write_table(pa.table({"party": ["a"], "thing": ["b"]}), data / "ycm.parquet")
    assert "expected the columns party, item, users, found party, thing" in refused("reproduce", *options)
    (data / "ycm.parquet").write_bytes(b"PAR1")
    assert "expected a Parquet file" in refused("reproduce", *options)
    assert not Path(output).exists()


def test_a_folder_in_use_is_not_overwritten(tmp_path: Path) -> None:
    data = small_folder(tmp_path / "data")
    first = ("reproduce", "federations", "--data", str(data), "--output", str(tmp_path / "out"), "--quick")
    assert treetop(*first).returncode == 0
    assert "add --resume" in refused(*first)
    assert "cannot go on with seed 3" in refused(*first, "--resume", "--seed", "3")
    assert treetop(*first, "--resume").returncode == 0


def test_build_data_makes_a_histogram_that_reproduce_takes(tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("red green blue\nyellow\n" * 500)
    recipe = tmp_path / "rdb.toml"
    recipe.write_text(
        'name = "rdb"\nkind = "text"\nseed = 1\n'
        '[[parties]]\nname = "one"\nusers = 300\n[parties.corpus]\nfiles = ["texts.txt"]\n'
        '[[parties]]\nname = "two"\nusers = 2000\n[parties.corpus]\nfiles = ["texts.txt"]\n'
    )
    target = tmp_path / "data" / "rdb_distinct.parquet"
    target.parent.mkdir()
    done = treetop("build-data", str(recipe), "--output", str(target), "--json")
    assert done.returncode == 0, done.stderr
    assert "two: 2,000 users were asked for, the corpus gives 1,000" in done.stderr
    assert [party["users"] for party in json.loads(done.stdout)["parties"]] == [300, 1000]
    done = treetop(
        "reproduce", "federations", "--data", str(target.parent), "--output", str(tmp_path / "out"), "--quick"
    )
    assert done.returncode == 0, done.stderr
    assert "1,300" in (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    recipe.write_text('name = "rdb"\nkind = "text"\nsped = 1\n')
    assert "key 'sped'" in refused("build-data", str(recipe), "--output", str(target))


SHARED = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.slow
@pytest.mark.skipif(not SHARED.is_dir(), reason="the histograms of public corpora are not part of the project")
def test_everything_runs_on_the_histograms_of_public_corpora(tmp_path: Path) -> None:
    words = command("reproduce", "--data", str(SHARED), "--output", str(tmp_path / "out"), "--quick", "--json")
    done = subprocess.run([*words, "--seed", "1"], capture_output=True, text=True, check=True, timeout=1800)
    said = json.loads(done.stdout)
    assert said["missing"] == []
    assert said["substitutes"] == ["UBA"]
    assert {claim["verdict"] for claim in said["claims"]} == {"holds", "does not hold", "cannot be checked"}
