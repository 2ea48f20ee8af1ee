import os
import signal
import time
from pathlib import Path

import pytest

from treetop.services.local.processes import Processes, ProcessFailed, Supervised


def ended(process: Supervised) -> None:
    process.process.wait(180)


def test_what_dies_is_started_again_and_told(tmp_path: Path) -> None:
    died: list[str] = []
    with Processes(died.append) as processes:
        process = processes.start("demo", ["evaluate", "syn", "--repeats", "1000000", "--seed", "1"], tmp_path / "log")
        os.kill(process.process.pid, signal.SIGKILL)
        ended(process)
        processes.revive()
        assert (died, process.starts) == (["demo"], 2)
        assert process.process.poll() is None
    assert process.process.poll() is not None


def test_bad_input_is_not_tried_again(tmp_path: Path) -> None:
    with Processes(lambda _: None) as processes:
        process = processes.start("find", ["find", "nothing.csv"], tmp_path / "log")
        ended(process)
        with pytest.raises(ProcessFailed, match=r"find ended with 2: error: nothing\.csv"):
            processes.revive()


def test_what_ended_well_is_left_alone(tmp_path: Path) -> None:
    with Processes(lambda _: None) as processes:
        process = processes.start("version", ["--version"], tmp_path / "log")
        ended(process)
        processes.revive()
        assert process.finished
        assert process.starts == 1
        assert process.last_words().startswith("treetop ")


def test_stopping_waits_no_longer_than_needed(tmp_path: Path) -> None:
    before = time.monotonic()
    with Processes(lambda _: None) as processes:
        processes.start("evaluate", ["evaluate", "syn", "--repeats", "1000000"], tmp_path / "log")
    assert time.monotonic() - before < 60
