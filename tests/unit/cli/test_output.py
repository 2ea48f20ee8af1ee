"""`--output FILE` for every command that finds something, and `treetop explain`."""

import errno
import json
import os
import sys
import tempfile
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from tests.support.answers import DEPLOYED
from tests.support.every_command import app
from typer.main import get_command
from typer.testing import CliRunner

import treetop
from treetop.answers.answer import Answer
from treetop.cli.main import main
from treetop.cli.output import deliver
from treetop.errors import InvalidInput
from treetop.planning.meaning import STRENGTHS, meaning_of

EXAMPLE = str(Path(__file__).parents[3] / "examples" / "coffee_shops.csv")
FIND = ["find", EXAMPLE, "--k", "3", "--seed", "1", "--mechanism", "canopy"]
ENDLESS = {"server", "party", "device", "campaign", "page", "server key"}
"""Commands that serve until they are told to stop, that are several, and one that writes a key where it is told to."""


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.append(tag)


def run(*words: str) -> str:
    done = CliRunner().invoke(app, list(words))
    assert done.exit_code == 0, (done.output, done.exception)
    return done.stdout


def test_every_command_that_ends_writes_files() -> None:
    def check(group: Any, path: tuple[str, ...] = ()) -> None:
        for name, command in group.commands.items():
            options = {option for each in command.params for option in each.opts}
            words = " ".join((*path, name))
            assert words in ENDLESS or "--output" in options, words
            if hasattr(command, "commands"):
                check(command, (*path, name))

    check(get_command(app))


@pytest.mark.parametrize("ending", ["json", "csv", "parquet", "html", "txt"])
def test_an_answer_in_a_file(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"answer.{ending}"
    printed = run(*FIND, "--output", str(path))
    assert "cappuccino" in printed
    if ending == "json":
        assert Answer.from_json(json.loads(path.read_text())).items[0].item == "cappuccino"
    elif ending == "html":
        assert "cappuccino" in path.read_text()
        assert not {"script", "link", "img"} & set(Tags(path.read_text()).found)
    elif ending == "txt":
        assert path.read_text().split() == printed.split()
    else:
        table = pa.csv.read_csv(path) if ending == "csv" else pa.parquet.read_table(path)
        assert table["item"].to_pylist()[0] == "cappuccino"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_with_json_the_screen_is_json_alone(tmp_path: Path) -> None:
    path = tmp_path / "answer.txt"
    printed = run(*FIND, "--json", "--output", str(path))
    assert json.loads(printed)["k"] == 3
    assert "● 3 of 3 items stand out" in path.read_text()


@pytest.mark.parametrize("name", ["answer.pdf", "answer", "nowhere/answer.json"])
def test_a_file_that_could_not_be_written_is_refused_first(tmp_path: Path, name: str) -> None:
    done = CliRunner().invoke(app, ["find", "nowhere.csv", "--output", str(tmp_path / name)])
    assert isinstance(done.exception, InvalidInput)
    assert done.exception.code == ("output_folder_missing" if "/" in name else "output_ending")


def test_plans_and_explanations_in_files(tmp_path: Path) -> None:
    for ending in ("json", "csv", "parquet", "html", "txt"):
        run("plan", "--users", "100000,50000", "--output", str(tmp_path / f"plan.{ending}"))
    assert json.loads((tmp_path / "plan.json").read_text())["reports"] == 150_000
    assert pa.parquet.read_table(tmp_path / "plan.parquet").num_rows == 6
    assert (tmp_path / "plan.html").read_text().count("<tr>") == 7
    run("explain", "2", "--output", str(tmp_path / "two.json"))
    assert json.loads((tmp_path / "two.json").read_text())["truthful"] == 88


def test_an_epsilon_in_words_and_odds() -> None:
    text = " ".join(run("explain", "2").split())
    for words in (
        "ε = 2 is fair", "e^2 = 7.39 times likelier", "88 tell the truth (●) and 12 say the opposite (○)",
        "1.0% 6.9%", "Apple", "US Census 2020", "accepts 4 for one task and 8 in its lifetime",
    ):  # fmt: skip
        assert words in text
    assert json.loads(run("explain", "2", "--json"))["odds"] == pytest.approx(7.389, abs=1e-3)
    assert isinstance(CliRunner().invoke(app, ["explain", "none"]).exception, InvalidInput)
    nine = " ".join(run("explain", "9").split())
    assert "all 100 tell the truth (●): hardly anybody would believe one who denies her answer" in nine
    assert "can deny" not in nine
    assert "e^9 = 8,103 times likelier" in nine


def test_the_meaning_of_an_epsilon_by_hand() -> None:
    three = meaning_of("1.0986122886681098")  # odds 3 to 1
    assert three.truthful == 75
    assert three.beliefs[-1] == pytest.approx((0.5, 0.75))
    assert three.beliefs[1] == pytest.approx((0.01, 0.03 / 1.02))
    words = [meaning_of(epsilon).strength.partition(":")[0] for epsilon in (0.5, 2, 4, 8, 9)]
    assert words[:4] == [text.partition(":")[0] for _, text in STRENGTHS]
    assert words[4] == "next to nothing"


class TestNotebooks:
    def test_an_answer_is_a_table_in_which_names_mean_themselves(self) -> None:
        hostile = replace(DEPLOYED, items=(replace(DEPLOYED.items[0], item="<script>alert(1)</script>\x1b[31m"),))
        html = hostile._repr_html_()
        assert "<script" not in html
        assert "&lt;script&gt;alert(1)&lt;/script&gt;\\x1b[31m" in html
        assert Tags(html).found.count("tr") == 2

    def test_texts_are_short(self) -> None:
        many = replace(DEPLOYED, items=tuple(replace(DEPLOYED.items[0], item="x" * 200) for _ in range(60)))
        assert len(repr(many)) < 700
        assert repr(many).endswith("…, and 50 more)")

    @pytest.mark.filterwarnings("ignore::treetop.TreetopWarning")
    def test_evaluations_and_plans_are_tables(self) -> None:
        found = treetop.evaluate(EXAMPLE, mechanisms="fedpem, gtf", ks=2, epsilons=4, oracles="krr", repeats=2, seed=1)
        assert [row.mechanism for row in found.rows] == ["fedpem", "gtf"]
        assert Tags(found._repr_html_()).found.count("tr") == 3
        planned = treetop.plan([100_000], k=5)
        assert Tags(planned._repr_html_()).found.count("tr") == 7
        assert len(repr(planned)) < 250

    @pytest.mark.filterwarnings("ignore::treetop.TreetopWarning")
    def test_a_path_wherever_a_file_is_meant(self, tmp_path: Path) -> None:
        listed = tmp_path / "items.txt"
        listed.write_text("cappuccino\ncocoa\nchai\n")
        for catalogue in (listed, str(listed), ["cappuccino", "cocoa", "chai"]):
            answer = treetop.find(Path(EXAMPLE), k=2, seed=1, catalogue=catalogue)
            assert [row.item for row in answer.items] == ["cappuccino", "cocoa"]
        answer.write(str(tmp_path / "answer.json"))
        assert json.loads((tmp_path / "answer.json").read_text())["k"] == 2


@pytest.fixture
def full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder on which no file can be flushed, once a run has begun; another folder takes temporary files."""
    folder, flush = tmp_path / "full", os.fsync
    folder.mkdir()
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))

    def full(handle: int) -> None:
        if folder in Path(os.readlink(f"/proc/self/fd/{handle}")).parents:
            raise OSError(errno.ENOSPC, "No space left on device")
        flush(handle)

    monkeypatch.setattr(os, "fsync", full)
    return folder


def exit_code_of(monkeypatch: pytest.MonkeyPatch, *words: str) -> object:
    monkeypatch.setattr(sys, "argv", ["treetop", *words])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


RUNS = {
    "explain.json": ["explain", "2"],
    "explain.txt": ["explain", "2"],
    "find.csv": FIND,
    "find.parquet": FIND,
    "evaluate.html": ["evaluate", EXAMPLE, "--mechanisms", "canopy", "--repeats", "1", "--seed", "1", "--ks", "3"],
    "plan.json": ["plan", "--users", "10000"],
}


@pytest.mark.parametrize("name", RUNS)
def test_a_result_that_cannot_be_written_is_kept_elsewhere(
    full_disk: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exit_code_of(monkeypatch, *RUNS[name], "--output", str(full_disk / name)) == 2
    (rescued,) = (full_disk.parent / "temporary").glob(f"treetop-*/result{Path(name).suffix}")
    printed = capsys.readouterr()
    assert str(rescued) in " ".join(printed.err.split())
    assert rescued.stat().st_size > 100
    assert not list(full_disk.iterdir())
    assert printed.out or name.startswith("evaluate")  # whose rows are in the file before they are shown


def test_a_result_is_printed_where_no_file_can_be_written_at_all(
    full_disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(full_disk))
    assert exit_code_of(monkeypatch, *RUNS["evaluate.html"], "--output", str(full_disk / "x.html")) == 2
    assert len(json.loads(capsys.readouterr().out)) == 1


def test_a_reader_that_goes_away_does_not_cost_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    monkeypatch.setattr("treetop.cli.output.print_json", broken)
    with pytest.raises(BrokenPipeError):
        deliver({"a": 1}, lambda: None, json_only=True, output=tmp_path / "x.json")
    assert json.loads((tmp_path / "x.json").read_bytes()) == {"a": 1}
