"""The command as its users run it: real processes, JSON to the contract, bad input in one line."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLE = str(ROOT / "examples" / "coffee_shops.csv")
FIND_KEYS = [
    "schema", "mechanism", "oracle", "encoding", "k", "epsilon", "seed", "items", "parties", "notes", "choices",
    "missing", "truth", "mode", "task", "name", "covered", "levels", "privacy", "fakes_needed", "outside",
    "items_per_user", "reading",
]  # fmt: skip
PARTY_KEYS = ["name", "users", "uplink_bits", "implausible", "share", "expected", "coverage", "central"]
ITEM_KEYS = ["item", "count", "frequency", "stderr", "significant", "source", "by_party"]
ROW_KEYS = [
    "data", "mechanism", "oracle", "encoding", "epsilon", "k", "levels", "repeats", "f1", "f1_se", "ncr", "ncr_se",
    "local_recall", "uplink_bits", "seconds",
]  # fmt: skip


def treetop(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "treetop", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert not check or done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done


def read(done: subprocess.CompletedProcess[str]) -> Any:
    return json.loads(done.stdout)


def test_find_prints_one_object_and_nothing_else() -> None:
    first, again = (treetop("find", EXAMPLE, "--k", "5", "--seed", "3", "--json") for _ in range(2))
    assert first.stdout == again.stdout
    answer = read(first)
    assert list(answer) == FIND_KEYS
    assert [list(item) for item in answer["items"]] == [ITEM_KEYS] * 5
    assert [list(party) for party in answer["parties"]] == [PARTY_KEYS] * 4
    assert sum(party["share"] for party in answer["parties"]) == 1
    assert {party["coverage"] for party in answer["parties"]} == {1.0}
    assert list(answer["truth"]) == ["f1", "ncr"]
    defaults = {name: answer[name] for name in ("mechanism", "oracle", "encoding", "k", "epsilon", "seed")}
    assert list(defaults.values()) == ["panorama", "auto", "hashed", 5, 2.0, 3]
    assert "note: panorama: " in first.stderr
    assert 24 in [choice["parameters"].get("bits") for choice in answer["choices"]]
    searched = treetop("find", EXAMPLE, "--k", "5", "--seed", "3", "--json", "--encoding", "words")
    assert "note: 3 items are too long" in searched.stderr
    assert {"items": 3} in [note["parameters"] for note in read(searched)["notes"]]


def test_find_draws_bars_for_a_person() -> None:
    done = treetop("find", EXAMPLE, "--seed", "1")
    assert "cappuccino" in done.stdout
    assert "█" in done.stdout
    assert "F1" in done.stdout
    words = " ".join(done.stdout.split())
    assert "every user answers once" in words
    assert "Shares of the users counted: " in words
    assert "100.0% of the known" in words
    assert "Noise swamps item 10" in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("simulator", ["exact", "devices"])
def test_find_reaches_every_reading(simulator: str) -> None:
    options = ["--set", "extension=printed", "--set", "levels=12", "--set", "groups=independent", "--mechanism", "taps"]
    answer = read(treetop("find", "syn", "--simulator", simulator, "--seed", "1", "--json", *options))
    assert answer["encoding"] == "ids"
    assert len(answer["items"]) == 10


def test_a_catalogue_is_surveyed(tmp_path: Path) -> None:
    listed = tmp_path / "drinks.txt"
    listed.write_text("cappuccino\ncocoa\nchai\nlatte\nchai\n", encoding="utf-8")
    done = treetop("find", EXAMPLE, "--catalogue", str(listed), "--k", "3", "--epsilon", "4", "--seed", "1")
    text = " ".join(done.stdout.split())
    assert "● 3 of 3 items stand out from noise" in text
    assert "of users hold an item that is not in the catalogue" in text
    assert "a catalogue of 4 items" in text
    assert "names 1 items again" in done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    answer = read(treetop("find", EXAMPLE, "--catalogue", str(listed), "--k", "3", "--seed", "1", "--json"))
    assert list(answer) == FIND_KEYS
    assert (answer["mechanism"], answer["encoding"]) == ("panorama", "catalogue")


def test_choices_are_shown_with_the_answer() -> None:
    question = ("find", EXAMPLE, "--strategy", "trie", "--seed", "1")
    choices = {each["code"]: each for each in read(treetop(*question, "--json"))["choices"]}
    assert choices["canopy_levels"]["parameters"]["levels"] == 6
    assert choices["canopy_kept"]["parameters"]["kept"] == 30
    assert choices["canopy_oracle"]["parameters"]["oracle"] == "olh"
    assert {"upload_at_most", "chosen_because"} <= choices.keys()
    shown = " ".join(treetop(*question).stdout.split())
    for choice in choices.values():
        assert f"canopy: {choice['text']}" in shown
    assert "note: panorama: " in treetop("find", "syn", "--seed", "1", "--json").stderr


def test_without_a_seed_one_is_drawn_and_repeats_the_answer() -> None:
    first = read(treetop("find", EXAMPLE, "--json"))
    assert read(treetop("find", EXAMPLE, "--json", "--seed", str(first["seed"]))) == first


def test_evaluate_prints_rows_and_writes_them(tmp_path: Path) -> None:
    output = tmp_path / "rows.csv"
    grid = ["--mechanisms", "tap,gtf", "--epsilons", "1,2", "--ks", "5", "--oracles", "krr,olh", "--repeats", "3"]
    done = treetop("evaluate", EXAMPLE, *grid, "--seed", "1", "--workers", "2", "--json", "--output", str(output))
    rows = read(done)
    assert [list(row) for row in rows] == [ROW_KEYS] * 8
    assert [(row["mechanism"], row["oracle"], row["epsilon"]) for row in rows[:3]] == [
        ("tap", "krr", 1.0),
        ("tap", "krr", 2.0),
        ("tap", "olh", 1.0),
    ]
    assert {row["data"] for row in rows} == {"coffee_shops"}
    assert len(output.read_text().splitlines()) == 9
    alone = read(treetop("evaluate", EXAMPLE, *grid, "--seed", "1", "--json"))
    for row in rows + alone:
        del row["seconds"]
    assert rows == alone


def test_evaluate_prints_a_table_for_a_person() -> None:
    done = treetop("evaluate", EXAMPLE, "--repeats", "2", "--ks", "3")
    assert "fedpem" in done.stdout
    assert "auto" in done.stdout
    assert "note: seed" in done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.slow  # what it prints is compared with the README in every run
def test_demo_shows_truth_estimates_and_means() -> None:
    done = treetop("demo", "--seed", "1")
    for word in ("truth", "fedpem", "gtf", "tap", "taps", "canopy", "panorama", "±", "F1", "NCR", "✓", "seed 1"):
        assert word in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    answers = read(treetop("demo", "--seed", "1", "--json"))
    assert list(answers) == ["truth", "answers", "rows"]
    assert len(answers["truth"]) == 10


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["find", "syn", "--catalogue", "nowhere.txt"],
            "nowhere.txt: expected a .txt file or a file ending in .parquet, .csv, ",
        ),
        (["find", "syn", "--catalogue", EXAMPLE, "--mechanism", "tap"], "with a catalogue nothing is searched"),
        (["find", "syn", "--strategy", "catalog"], "did you mean 'catalogue'?"),
        (["find", "syn", "--strategy", "tries"], "unknown strategy 'tries'"),
        (["find", "syn", "--set", "upload_budget=10"], "upload_budget must be at least"),
        (["find", "nowhere.csv"], "nowhere.csv: expected a file ending in .parquet, .csv, "),
        (["find"], "Missing argument"),
        (["find", "syn", "--epsilon", "inf"], "epsilon must be a finite number"),
        (["find", "syn", "--epsilon", "much"], "--epsilon"),
        (["find", "syn", "--k", "0"], "k must be a whole number of at least 1, found 0"),
        (["find", "syn", "--k", "99999"], "k must be at most the 17,911 distinct items, found 99999"),
        (["find", "syn", "--mechanism", "tpas"], "did you mean 'taps'?"),
        (["find", "syn", "--oracle", "oeu"], "did you mean 'oue'?"),
        (["find", "syn", "--encoding", "word"], "did you mean 'words'?"),
        (["find", "syn", "--set", "betta=0.1"], "did you mean 'beta'?"),
        (["find", "syn", "--set", "beta"], "--set expects NAME=VALUE, found 'beta'"),
        (["find", "syn", "--set", "bits=20", "--set", "levels=5", "--encoding", "text"], "multiples of 8, found 20"),
        (["find", "syn", "--mechanism", "tap", "--set", "levels=2"], "ask for more levels"),
        (["evaluate", "syn", "--repeats", "0"], "repeats must be"),
        (["evaluate", "syn", "--workers", "0"], "workers must be"),
        (["evaluate", "syn", "--output", "rows.xml"], "an output ends in one of .parquet, .csv, .json"),
        (["evaluate", "syn", "--ks", "ten"], "--ks expects whole numbers separated by commas, found 'ten'"),
        (["demo", "--k", "-3"], "k must be a whole number of at least 1, found -3"),
        (["fnid", "syn"], "No such command 'fnid'"),
        (["find", "syn", "--kk", "3"], "No such option"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], words: str) -> None:
    done = treetop(*arguments, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1 or arguments[0] == "evaluate"
    assert done.stderr.strip().splitlines()[-1].startswith("error: ")


def test_version_help_and_completion() -> None:
    assert treetop("--version").stdout.startswith("treetop 0.")
    assert "demo" in treetop().stdout
    assert "--install-completion" in treetop("--help").stdout
    environment = {**os.environ, "_TREETOP_COMPLETE": "complete_bash", "COMP_WORDS": "treetop ev", "COMP_CWORD": "1"}
    script = str(Path(sys.executable).with_name("treetop"))
    done = subprocess.run([script], capture_output=True, text=True, check=False, env=environment, timeout=180)
    assert done.stdout.strip() == "evaluate"


def hear_ctrl_c() -> None:
    """Undo what a shell does to its background jobs, which may have started the tests."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def workers_of(process: int) -> list[int]:
    """Return the live processes whose parent is this one."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [int(child) for child in children]


def seconds_worked(processes: list[int]) -> float:
    """Return the processor time of live processes, which a busy machine does not change."""
    ticks = [Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()[11:13] for each in processes]
    return sum(int(user) + int(system) for user, system in ticks) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc to see child processes")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_an_end_by_force_leaves_no_orphans_and_ctrl_c_keeps_finished_rows(tmp_path: Path, how: signal.Signals) -> None:
    output = tmp_path / "rows.csv"
    grid = [
        "--mechanisms",
        "fedpem,tap,taps",
        "--oracles",
        "krr",
        "--epsilons",
        "1,2,3,4,5,6,7,8,9,10",
        "--repeats",
        "20",
        "--workers",
        "2",
    ]
    command = [sys.executable, "-m", "treetop", "evaluate", "syn", *grid, "--seed", "1", "--output", str(output)]
    process = subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=hear_ctrl_c,  # noqa: PLW1509
    )
    children: list[int] = []
    deadline = time.monotonic() + 120
    while len(children) < 3 and time.monotonic() < deadline:  # two workers and the resource tracker
        children = workers_of(process.pid)
        time.sleep(0.05)
    while seconds_worked(children) < 6 and time.monotonic() < deadline:  # some of the thirty rows
        time.sleep(0.05)
    process.send_signal(how)
    _, errors = process.communicate(timeout=180)
    if how == signal.SIGINT:
        assert process.returncode == 130
        assert "interrupted" in errors
        rows = output.read_text().splitlines()
        assert 2 <= len(rows) < 31
        assert rows[1].startswith('"syn","fedpem","krr","ids",1,10,24,20,')
    gone = time.monotonic() + 10
    while any(Path(f"/proc/{child}").exists() for child in children) and time.monotonic() < gone:
        time.sleep(0.1)
    assert not [child for child in children if Path(f"/proc/{child}").exists()]


@pytest.mark.parametrize("example", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.stem)
def test_the_examples_run(example: Path) -> None:
    done = subprocess.run([sys.executable, str(example)], capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stdout
