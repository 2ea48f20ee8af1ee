"""Whatever items, parties, tasks and files are called, a command prints lines that mean themselves."""

import json
import re
import subprocess
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from rich.table import Table
from tests.support.answers import DEPLOYED
from tests.support.certificates import Authority
from tests.support.hostile_texts import BEYOND_THE_BMP, HIDDEN, MARKUP
from tests.support.parties import served
from tests.support.servers import ADMIN_KEY, HostedServer, wanted

from treetop.adapters.system.durable_file import DeviceState
from treetop.adapters.system.key_files import SigningKey
from treetop.answers.parts import AnswerItem
from treetop.audit.checks import AuditReport, Check
from treetop.cli import audit, demo, reproduce
from treetop.cli.federation import fleet, query
from treetop.cli.federation.up import Bars
from treetop.cli.main import main
from treetop.cli.rendering import evaluation_table, show
from treetop.cli.screen import Description, err, note, out, print_json, progress_bar, waiting
from treetop.errors import InvalidInput, QueryFailed
from treetop.evaluation.evaluate import Evaluation, Row
from treetop.federation.device.ledger import Caps, LedgerEntry
from treetop.federation.documents import canonical_json
from treetop.public_text import first_hidden, visible
from treetop.reproduction.verdicts import ClaimVerdict
from treetop.services.fleet.fleet import FleetTotals
from treetop.services.local.run import Standing
from treetop.services.server.app import server_app
from treetop.trie.user_groups import Group
from treetop.wording import Note

Capture = pytest.CaptureFixture[str]
TEXTS = (*HIDDEN, *MARKUP, *BEYOND_THE_BMP)
WHOLE = tuple(text for text in TEXTS if not re.search("[\ud800-\udfff]", text))
"""Those that a file can hold."""
CLI = Path(__file__).parents[3] / "src" / "treetop" / "cli"


def printed(capsys: Capture) -> str:
    """What was printed, as one line; no line of it holds anything that cannot be seen."""
    found = capsys.readouterr()
    lines = [*found.out.split("\n"), *found.err.split("\n")]
    assert first_hidden(lines) is None, lines
    return " ".join(" ".join(lines).split())


def typed(monkeypatch: pytest.MonkeyPatch, *words: object) -> int:
    monkeypatch.setattr(sys, "argv", ["treetop", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        main()
    return int(left.value.code or 0)


def squeezed(text: str) -> str:
    return "".join(visible(text).split())


@pytest.mark.parametrize("text", TEXTS)
def test_every_way_to_print(text: str, capsys: Capture) -> None:
    table = Table(text, title=text, caption=text)
    table.add_row(text)
    out.print(table)
    out.print(text, text, style="bold")
    note(text)
    with waiting(text) as say:
        say(text)
    with progress_bar(text, 1) as bar:
        assert bar.console is err
    assert Description().render(bar.tasks[0]).plain == visible(text)
    assert squeezed(text) in "".join(printed(capsys).split())
    print_json({text: [text]})
    told = capsys.readouterr().out
    assert first_hidden(told.split("\n")) is None
    assert json.loads(told) == {text: [text]}


@pytest.mark.parametrize("text", TEXTS)
def test_every_table_and_line_of_a_command(text: str, capsys: Capture) -> None:
    show(replace(DEPLOYED, items=(AnswerItem(text, 90.0, 0.3, 4.0),)))
    show(replace(DEPLOYED, items=(AnswerItem(text, 90.0, 0.3, 4.0, source="listed"),), mechanism=text, mode=text))
    row = Row(text, text, text, text, 1.0, 2, 3, 4, 0.5, None, 0.5, None, 0.5, 100.0, 1.0)
    out.print(evaluation_table([row]))
    out.print(
        demo._answers_table([{"item": text, "count": 3}], [replace(DEPLOYED, items=(AnswerItem(text, 9, 1, 1),))])
    )
    audit._show(AuditReport([Check(text, True, text, 0.5, 1)]))
    fleet._show(FleetTotals("ab", 1, 0, {text: 1}, 0, [text], 1.0), json=False)
    with Bars() as bars:
        bars.show(Standing({text: (1, 2)}, {"steps": 1, "doing": text}))
    assert squeezed(text) in "".join(printed(capsys).split())


@pytest.mark.parametrize("text", TEXTS)
def test_the_verdicts_of_a_reproduction(text: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    class Made:
        verdicts = (type("Verdict", (), {"verdict": text, "claim": type("Claim", (), {"text": text})})(),)

    def grounds(_verdict: ClaimVerdict) -> str:
        return text

    monkeypatch.setattr(reproduce, "grounds", grounds)
    reproduce._show(Made, Path("x"))  # type: ignore[arg-type]
    printed(capsys)


def test_nobody_prints_around_the_screen() -> None:
    """Another console, markup, or a text made of something that was not made visible, would be noticed here."""
    for path in CLI.rglob("*.py"):
        source = path.read_text("utf-8")
        if path.name != "screen.py":
            assert not re.search(r"Console\(|from_markup|TextColumn|\bmarkup=|\.status\(|render_str", source), path
        for made in re.findall(r"Text(?:\.assemble)?\((.*)", source):
            assert "row.item" not in made.replace("visible(row.item)", "")


@pytest.fixture
def held(tmp_path: Path) -> Path:
    """Users of parties with hostile names who hold hostile items."""
    parties = [party for party in ("[/a]b", "north\x1b[2J\nforged") for _ in WHOLE]
    items = [*WHOLE, *WHOLE]
    users = [4000 - 100 * place for place in range(len(WHOLE))] * 2
    path = tmp_path / "held.parquet"
    pa.parquet.write_table(pa.table({"party": parties, "item": items, "users": users}), path)
    return path


def test_items_and_parties_of_a_file(held: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    (held.parent / "list.txt").write_text("\n".join(item for item in WHOLE if len(item.splitlines()) == 1), "utf-8")
    ways: list[list[object]] = [
        ["--encoding", "text", "--set", "bits=64"],
        ["--catalogue", held.parent / "list.txt"],
        ["--strategy", "hashed", "--word-list", held.parent / "list.txt"],
    ]
    for way in ways:
        for more in ([], ["--json"]):
            assert typed(monkeypatch, "find", held, "--k", 20, "--epsilon", 8, "--seed", 1, *way, *more) == 0
            found = capsys.readouterr()
            assert first_hidden([*found.out.split("\n"), *found.err.split("\n")]) is None
    assert typed(monkeypatch, "find", held, "--k", 20, "--epsilon", 8, "--seed", 1, "--catalogue", held) == 0
    shown = "".join(printed(capsys).split())
    for text in ("\x00", *MARKUP[:3]):  # longer ones are folded
        assert squeezed(text) in shown


def test_rows_of_an_evaluation(held: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    """A file that is called like a formula: a spreadsheet reads text, and so does a program."""
    data, output = held.rename(held.with_name("=1+1[bold].parquet")), held.with_name("rows.csv")
    words = ("--ks", 2, "--repeats", 2, "--mechanisms", "gtf", "--encoding", "text", "--set", "bits=64")
    assert typed(monkeypatch, "evaluate", data, *words, "--output", output) == 0
    printed(capsys)
    assert pa.csv.read_csv(output)["data"].to_pylist() == ["'=1+1[bold]"]
    assert typed(monkeypatch, "evaluate", data, *words, "--output", output.with_suffix(".parquet")) == 0
    assert pa.parquet.read_table(output.with_suffix(".parquet"))["data"].to_pylist() == ["=1+1[bold]"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(1)", "\t=1", "\r=1"])
def test_texts_of_a_csv_file_are_no_formulas_and_its_numbers_are_numbers(tmp_path: Path, text: str) -> None:
    row = Row(text, text, "krr", "a=b", -1.0, 2, 3, 4, 0.5, None, 0.5, None, 0.5, 100.0, -1.0)
    Evaluation((row,), (), 1).write(tmp_path / "rows.csv")
    read = pa.csv.read_csv(tmp_path / "rows.csv", parse_options=pa.csv.ParseOptions(newlines_in_values=True))
    (found,) = read.to_pylist()
    assert found["data"] == found["mechanism"] == "'" + text
    assert (found["encoding"], found["epsilon"], found["seconds"]) == ("a=b", -1, -1)


@pytest.mark.filterwarnings("ignore:Glyph:UserWarning")
def test_a_plot_takes_items_as_they_are() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    axes = replace(DEPLOYED, items=tuple(AnswerItem(text, 9.0, 0.1, 1.0) for text in WHOLE)).plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == list(map(visible, WHOLE))
    axes.figure.canvas.draw()
    pyplot.close(axes.figure)


@pytest.mark.parametrize("text", TEXTS)
def test_what_a_device_answered(text: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task's name and attribute stay on the line of their entry."""
    state = DeviceState(tmp_path / "state", Caps(Fraction(4), Fraction(8)))
    for number in (1, 2):
        entry = LedgerEntry(bytes([number]) * 32, f"{text}1", Group(1), bytes(32), Fraction(1))
        state.ledger.reserve(entry)
        state.note(entry.task, text * 40, "sent", "accepted")
    state.close()
    assert typed(monkeypatch, "device", "--status", "--state", tmp_path / "state") == 0
    lines = capsys.readouterr().out.split("\n")
    assert first_hidden(lines) is None
    assert sum(line.startswith(("0101", "0202")) for line in lines) == 2
    assert len([line for line in lines if line.startswith("Epsilon 2 of 8 spent in all")]) == 1


@pytest.mark.parametrize("text", ["".join(HIDDEN), "\ud800", "\x9b31m", "[/a]b"])
def test_errors_are_one_line(text: str, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (
        ["find", text], ["nothing" + text], ["find", "syn", "--mechanism", text], ["plan", "--users", text],
        ["find", "syn", "--set", text], ["party", "check", "--settings", text], ["query", "--server", text],
    ):  # fmt: skip
        assert typed(monkeypatch, *words) == 2, words
        found = capsys.readouterr().err
        assert found.startswith("error: ")
        assert first_hidden(found.rstrip("\n")) is None
        assert "Traceback" not in found


def settings_file(folder: Path, role: str, name: str) -> Path:
    samples = Path(__file__).parents[3] / "docs" / "how_to" / "samples"
    text = (samples / f"{role}.toml").read_text("utf-8")
    old = re.search(r'^name = (".*")$', text, re.MULTILINE)
    assert old is not None
    escaped = "".join(f"\\U{ord(character):08x}" for character in name)
    text = text.replace(old[1], f'"{escaped}"', 1)
    path = folder / f"{role}.toml"
    path.write_text(text, "utf-8")
    for secret in re.findall(r'_file = "(.*)"', text):
        (folder / secret).parent.mkdir(exist_ok=True, parents=True)
        (folder / secret).write_text("k" * 32)
    for variable in re.findall(r'_env = "(.*)"', text):
        pytest.MonkeyPatch().setenv(variable, "k" * 32)
    authority = Authority()
    authority.issue(folder / "tls")
    authority.save(folder / "tls" / "south-ca.pem")
    SigningKey.generate().save(folder / "secrets" / "signing.key")
    return path


@pytest.mark.parametrize("role", ["party", "server"])
@pytest.mark.parametrize("text", WHOLE)
def test_names_in_settings(
    role: str, text: str, tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = settings_file(tmp_path, role, text)
    refused = text in HIDDEN
    assert typed(monkeypatch, role, "check", "--settings", path) == (2 if refused else 0)
    shown = printed(capsys)
    if refused:
        assert "name must be without control and invisible characters, found" in shown
    assert squeezed(text) in "".join(shown.split())


def hostile_result(hosted: HostedServer) -> str:
    """An answered query whose stored answer is full of such texts."""
    task = hosted.queries.take(wanted()).task
    end = time.monotonic() + 60
    while hosted.queries.state(task).state == "running":
        assert time.monotonic() < end
        time.sleep(0.02)
    content: dict[str, Any] = json.loads(hosted.journal.kept[f"server:{task}"]["result"])
    content["items"] = [{**content["items"][0], "item": text} for text in TEXTS]
    missing = {"levels": 1, "expected": None}
    content["missing"] = [{"name": text, "reason": f"withdrew: {text}", **missing} for text in TEXTS]
    content["notes"] = content["choices"] = [Note("chosen_because", reason=text).to_json() for text in TEXTS]
    content["name"] = "".join(TEXTS)
    hosted.journal.kept[f"server:{task}"]["result"] = canonical_json(content)
    return task


def treetop(*words: str) -> subprocess.CompletedProcess[str]:
    """Run the command as a process of its own."""
    command = [sys.executable, "-m", "treetop", *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120)
    assert first_hidden([*done.stdout.split("\n"), *done.stderr.split("\n")]) is None
    assert "Traceback" not in done.stderr
    return done


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_query(more: list[str], tmp_path: Path) -> None:
    hosted = HostedServer()
    task = hostile_result(hosted)
    (tmp_path / "key").write_text(ADMIN_KEY)
    with served(server_app(hosted.context)) as port:
        words = ["query", "--server", f"http://127.0.0.1:{port}", "--key-file", str(tmp_path / "key")]
        found = treetop(*words, "--task", task, *more)
        assert found.returncode == 0
        if more:
            assert [row["item"] for row in json.loads(found.stdout)["items"]][-1] == TEXTS[-1]
            return
        assert "[/a]b" in found.stdout
        assert "[bold]A" in found.stdout


def test_what_fails_says_so_in_one_line(tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a server answers besides results is shown as it is, and escaped."""

    class Client:
        def result(self, _task: str) -> None:
            return None

        def state(self, _task: str) -> dict[str, str]:
            return {"state": "failed", "doing": "".join(TEXTS)}

    with pytest.raises(QueryFailed) as failure:
        query.followed(Client(), "ab")  # type: ignore[arg-type]
    assert str(failure.value) == "the query ended without an answer: " + visible("".join(TEXTS))


def test_python_gets_one_line_too() -> None:
    assert first_hidden(repr(replace(DEPLOYED, items=tuple(AnswerItem(text, 1, 1, 1) for text in TEXTS)))) is None
    assert str(InvalidInput("a\nb\ud800")) == "a\\nb\\ud800"


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_a_terminal_that_knows_ascii_alone(more: list[str], held: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    done = treetop("find", str(held), "--k", "27", "--epsilon", "8", "--seed", "1", "--catalogue", str(held), *more)
    assert done.returncode == 0
    assert done.stdout.isascii()
    assert not more or {row["item"] for row in json.loads(done.stdout)["items"]} & set(BEYOND_THE_BMP)
