"""What a shell completes, from the table alone."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from treetop.cli.app import app
from treetop.cli.shared.completion import completing_app

MAIN = "from treetop.cli.main import main; main()"
CHOICES = (
    "mechanism", "mechanisms", "oracle", "oracles", "encoding", "strategy", "simulator", "reading", "normalise",
    "word_list_order", "settings", "engine", "delimiter", "file_encoding", "mode", "policy",
)  # fmt: skip


def completed(words: str) -> list[str]:
    place = len(words.split()) - (not words.endswith(" "))
    shell = {"COMP_WORDS": words, "COMP_CWORD": str(place), "_TREETOP_COMPLETE": "complete_bash"}
    command = [sys.executable, "-X", "importtime", "-c", MAIN]
    done = subprocess.run(command, env=os.environ | shell, capture_output=True, text=True, timeout=120, check=False)
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert not {"numpy", "pyarrow", "rich.progress", "treetop.cli.app"} & loaded
    return done.stdout.split()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("treetop ex", {"explain"}),
        ("treetop device fl", {"fleet"}),
        ("treetop find --mechanism ta", {"tap", "taps"}),
        ("treetop evaluate syn --oracles krr,o", {"krr,oue", "krr,olh"}),
        ("treetop find --delimiter s", {"semicolon", "space"}),
    ],
)
def test_commands_options_and_values_without_loading_them(words: str, expected: set[str]) -> None:
    assert set(completed(words)) == expected


def test_the_table_has_every_command_and_option() -> None:
    def shape(command: Any) -> object:
        options = {
            option for each in command.params if each.param_type_name == "option" and not each.hidden
            for option in (*each.opts, *each.secondary_opts)
        }  # fmt: skip
        return options, {name: shape(each) for name, each in getattr(command, "commands", {}).items()}

    assert shape(get_command(completing_app())) == shape(get_command(app))


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
    assert set(completed("treetop find --mechanism ta")) == {"tap", "taps", "tanager"}
