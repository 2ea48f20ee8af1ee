"""Whatever the terminal: names and numbers survive narrow ones, marks those without Unicode, commands all of them."""

import io
import re
from dataclasses import replace
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.progress import Progress, Task
from tests.support.answers import DEPLOYED
from tests.support.every_command import app
from typer.testing import CliRunner

from treetop.answers.answer import SIMULATED
from treetop.answers.parts import AnswerItem
from treetop.cli import screen
from treetop.cli.rendering import evaluation_table, fitted, share, show
from treetop.cli.screen import out, plain, reading_bar
from treetop.evaluation.evaluate import Row
from treetop.metrics.answer_quality import Advice

Capture = pytest.CaptureFixture[str]
NAMES = ("红茶和绿茶", "🍵 green tea", "cappuccino with oat milk", "chai")
ITEMS = tuple(
    AnswerItem(name, 12_345.6 - place, 0.123, 678.9, True, None, 3, 12_000) for place, name in enumerate(NAMES)
)
ANSWER = replace(DEPLOYED, items=ITEMS)
ROW = Row("syn", "panorama:catalogue", "auto", "ids", 4.0, 10, 6, 20, 0.955, 0.011, 0.982, 0.005, 0.125, 800.0, 0.101)


@pytest.fixture
def width(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    monkeypatch.setattr(out, "_width", 50)
    return monkeypatch


@pytest.mark.usefixtures("width")
def test_at_50_columns_names_and_numbers_survive_and_bars_go(capsys: Capture) -> None:
    show(ANSWER)
    text = capsys.readouterr().out
    for words in (*NAMES, "12,346 ± 679", "12,000", "12.30%"):
        assert words in text
    assert "█" not in text
    assert all(cell_len(line.rstrip()) <= 50 for line in text.splitlines())
    out.print(fitted(evaluation_table([ROW])))
    text = capsys.readouterr().out
    assert text.splitlines()[0] == "panorama:catalogue"
    for words in ("oracle: auto", "F1: 0.955 ± 0.011", "recall: 0.125", "kbit up: 0.8"):
        assert f"  {words}" in text


def test_at_80_columns_bars_are_there_and_wide_characters_align(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(out, "_width", 90)
    show(ANSWER)
    rows = capsys.readouterr().out.splitlines()[2:6]
    assert all("█" in row for row in rows)
    ends = {cell_len(row[: row.index("±")]) for row in rows}
    assert len(ends) == 1


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_a_terminal_without_the_marks_gets_ascii(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="strict")  # whatever is left over is a traceback
    monkeypatch.setattr(out, "_file", file)
    monkeypatch.setattr(out, "_width", 110)
    show(replace(ANSWER, items=(*ITEMS[2:], ITEMS[0])))
    file.flush()
    text = raw.getvalue().decode(encoding)
    assert "1 *  cappuccino with oat milk" in text
    assert "2 *  chai" in text
    assert "3 *  \\u7ea2\\u8336" in text
    assert "* 3 of 3 items stand out from noise." in text
    assert "epsilon = 0.5" in text
    assert ("12,344 +/- 679" if encoding == "ascii" else "12,344 ± 679") in text
    rows = text.splitlines()[2:5]
    assert "####" in rows[0]
    assert len({len(row.rstrip()) for row in rows}) == 1


def test_what_unicode_terminals_show_is_left_alone() -> None:
    assert plain("● 红茶 ± ε …") == "● 红茶 ± ε …"


def test_no_share_is_beyond_all_users_or_below_none() -> None:
    assert (share(1.2), share(-0.01), share(0.1234)) == ("100.00%", "0.00%", "12.34%")


@pytest.mark.parametrize(
    ("advice", "words"),
    [
        (Advice(None, None), "and nobody holds it: noise put it there. Ask for fewer items"),
        (Advice(9.0, 2.5), "About 27,000 users like these would show it; epsilon 2.5 would, too."),
        (Advice(9.0, None), "no epsilon up to 4, the most that devices accept, would."),
        (Advice(1e9, None), "More users than there are people would be needed"),
    ],
)
def test_advice_promises_nothing_that_cannot_be(capsys: Capture, advice: Advice, words: str) -> None:
    show(replace(ANSWER, advice=advice))
    text = " ".join(capsys.readouterr().out.split())
    assert words in text
    assert len(re.findall("would show it", text)) == (advice.users_factor is not None and advice.users_factor < 1e6)


def test_above_what_devices_accept_no_epsilon_is_named(capsys: Capture) -> None:
    show(replace(ANSWER, epsilon=8.0, advice=Advice(9.0, None)))
    assert "devices accept no epsilon above 4" in " ".join(capsys.readouterr().out.split())


def test_a_simulation_says_so_and_a_deployment_does_not(capsys: Capture) -> None:
    show(ANSWER)
    assert SIMULATED not in capsys.readouterr().out
    show(replace(ANSWER, mode="simulation"))
    assert SIMULATED in capsys.readouterr().out


def test_the_bar_of_reading_waits_two_seconds(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(screen, "monotonic", lambda: now[0])
    begun: list[int] = []
    monkeypatch.setattr(Progress, "start", lambda self: begun.append(self.tasks[0].fields["rows"]))
    with reading_bar() as progress:
        progress(1_000, 0.1)
        now[0] = 1.9
        progress(2_000, 0.2)
        assert begun == []
        now[0] = 2.0
        progress(3_000, 0.3)
        progress(4_000, 0.4)
    assert begun == [2_000]
    assert screen.Rows().render(_task(4_000)).plain == "4,000 rows"


def _task(rows: int) -> Task:
    bar = Progress()
    bar.add_task("reading", rows=rows)
    return bar.tasks[0]


def test_columns_and_gaps_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "sales.csv"
    path.write_text("shop;drink;people\nnorth;tea;900\nnorth;;5\nsouth;chai;500\nsouth;tea;40\n")
    named = ["--item-column", "drink", "--party-column", "shop", "--users-column", "people", "--delimiter", ";"]
    options = [*named, "--k", "1", "--seed", "1", "--mechanism", "canopy", "--drop-missing", "--json"]
    done = CliRunner().invoke(app, ["find", str(path), *options])
    assert done.exit_code == 0, done.stderr
    assert "1 of 4 rows have no value in 'drink' or 'shop' or 'people' and were left out" in done.stderr
    assert '"item": "tea"' in done.stdout
