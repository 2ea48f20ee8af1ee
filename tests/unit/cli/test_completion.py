"""What a shell completes: names of commands without loading any, options and values by loading one."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.every_command import app
from typer.main import get_command

from treetop.cli.commands import COMMANDS

MAIN = "from treetop.cli.main import main; main()"
LISTING = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
CHOICES = (
    "mechanism", "mechanisms", "oracle", "oracles", "encoding", "strategy", "simulator", "reading", "normalise",
    "word_list_order", "settings", "engine", "delimiter", "file_encoding", "mode", "policy",
)  # fmt: skip


def completed(words: str) -> tuple[set[str], set[str]]:
    """Return what is offered, and which modules were loaded for it."""
    place = len(words.split()) - (not words.endswith(" "))
    shell = {"COMP_WORDS": words, "COMP_CWORD": str(place), "_TREETOP_COMPLETE": "complete_bash"}
    command = [sys.executable, "-c", LISTING + MAIN]
    done = subprocess.run(command, env=os.environ | shell, capture_output=True, text=True, timeout=120, check=False)
    return set(done.stdout.split()), set(done.stderr.split())


def test_names_of_commands_are_completed_without_loading_any() -> None:
    offered, loaded = completed("treetop ")
    assert offered == {*COMMANDS}
    assert not {"numpy", "pyarrow", *(f"treetop.cli.{module}" for module in COMMANDS.values())} & loaded
    assert completed("treetop ex")[0] == {"explain"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("treetop device fl", {"fleet"}),
        ("treetop find --mechanism ta", {"tap", "taps"}),
        ("treetop evaluate syn --oracles krr,o", {"krr,oue", "krr,olh"}),
        ("treetop find --delimiter s", {"semicolon", "space"}),
    ],
)
def test_options_and_values_are_completed_by_loading_one_command(words: str, expected: set[str]) -> None:
    offered, loaded = completed(words)
    assert offered == expected
    assert {each for each in COMMANDS if f"treetop.cli.{COMMANDS[each]}" in loaded} == {words.split()[1]}


def test_other_shells_complete_the_same() -> None:
    shell = {"_TYPER_COMPLETE_ARGS": "treetop find --delimiter s", "_TREETOP_COMPLETE": "complete_fish"}
    done = subprocess.run(
        [sys.executable, "-c", MAIN], env=os.environ | shell | {"_TYPER_COMPLETE_FISH_ACTION": "get-args"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["semicolon", "space"]


def test_every_option_with_known_values_offers_them() -> None:
    def check(command: Any) -> None:
        context = command.make_context("x", [], resilient_parsing=True)
        for option in command.params:
            is_path = option.name == "settings" and "--set" not in option.opts
            if option.name in CHOICES and option.param_type_name == "option" and not is_path:
                assert option.shell_complete(context, ""), (command.name, option.name)
        for each in getattr(command, "commands", {}).values():
            check(each)

    check(get_command(app))


def test_plugins_are_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "mine-1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: mine\nVersion: 1\n")
    (folder / "entry_points.txt").write_text("[treetop.mechanisms]\ntanager = mine:Mine\n")
    monkeypatch.setenv("PYTHONPATH", f"{os.environ.get('PYTHONPATH', '')}{os.pathsep}{tmp_path}")
    assert completed("treetop find --mechanism ta")[0] == {"tap", "taps", "tanager"}
