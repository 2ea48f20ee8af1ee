"""Commands are loaded one by one, and all of them where none is named."""

import subprocess
import sys

import pytest
from rich.console import Console

from treetop.cli.commands import COMMANDS, assembled
from treetop.cli.federation import up
from treetop.cli.federation.up import MAX_BARS, Bars
from treetop.services.local.run import Standing

LOADED = """
import sys
sys.argv = ["treetop", *{words!r}]
from treetop.cli.main import _app
_app()
print(*(name for name in ("treetop.audit.run", "treetop.cli.find", "pyarrow", "numba") if name in sys.modules))
"""


@pytest.mark.parametrize(("words", "loaded"), [
    (["party", "--settings", "x"], []),
    (["server"], []),
    (["find"], ["treetop.cli.find", "pyarrow"]),
    ([], ["treetop.audit.run", "treetop.cli.find", "pyarrow"]),
    (["nobody"], ["treetop.audit.run", "treetop.cli.find", "pyarrow"]),
])  # fmt: skip
def test_a_process_loads_the_command_that_it_runs(words: list[str], loaded: list[str]) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED.format(words=words)], capture_output=True, text=True, timeout=120, check=True
    )
    assert done.stdout.split() == loaded


def test_every_command_stands_where_it_is_said_to_be() -> None:
    app = assembled(COMMANDS)
    assert len(app.registered_commands) + len(app.registered_groups) == len(COMMANDS)


@pytest.mark.parametrize(("parties", "lines"), [(3, 4), (MAX_BARS, MAX_BARS + 1), (100, 2)])
def test_many_parties_share_a_bar(parties: int, lines: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up, "err", Console(quiet=True))
    with Bars() as bars:
        for done in (2, 5):
            reported = {f"party {number}": (done if number else 5, 5) for number in range(parties)}
            bars.show(Standing(reported, {"steps": 1, "doing": "waiting"}))
        tasks = bars._progress.tasks
    assert len(tasks) == lines
    if lines == 2:
        assert tasks[1].description == "devices of 100 parties, 100 done"
        assert (tasks[1].completed, tasks[1].total) == (500, 500)
