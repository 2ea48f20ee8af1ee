"""Power cuts while reports come in: whatever the disk made of unflushed writes, acknowledged reports are there."""

import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.power_cuts import CALLS, replayed
from tests.support.reports import FIRST, TASK, body_of

from treetop.adapters.store_choice import open_stores
from treetop.errors import StoreRefused

ROOT = Path(__file__).parents[2]
AT_ONCE = 3
PROGRAM = """
import os, sys
from tests.support.reports import TASK, reports
from treetop.adapters.relational import commit_numbers
from treetop.adapters.store_choice import open_stores
commit_numbers.FLUSH_SECONDS = 0.001
store, _ = open_stores(sys.argv[1])
store._database._connection.execute("PRAGMA wal_autocheckpoint = 25").fetchall()
store.add_task(TASK, b"the task")
for first in range(0, 90, 3):
    store.submit(reports(range(first, first + 3)))
    os.write(1, b"%d" % first)
store.close()
"""


def traced(folder: Path) -> bytes:
    """Run the program and return its system calls, or skip where they cannot be seen."""
    if shutil.which("strace") is None:
        pytest.skip("no strace on this machine")
    trace = folder.parent / "trace"
    command = ["strace", "-f", "-y", "-xx", "-s", "1000000", "-e", f"trace={CALLS}", "-o", str(trace), sys.executable]
    done = subprocess.run(
        [*command, "-c", PROGRAM, str(folder / "party.db")], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode and "ptrace" in done.stderr:
        pytest.skip(f"no tracing here: {done.stderr.splitlines()[0]}")
    assert done.returncode == 0, done.stderr
    return trace.read_bytes()


def check_image(image: dict[str, bytes], acknowledged: set[int], folder: Path) -> None:
    folder.mkdir()
    for name, content in image.items():
        (folder / name).write_bytes(content)
    store, _ = open_stores(str(folder / "party.db"))  # never refused as an older one: its commit file is not ahead
    stored: set[bytes] = set()
    if TASK in store.tasks():
        store.close_group(TASK, FIRST)
        stored = {body for stretch in store.bodies(TASK, FIRST) for body in stretch}
    store.close()
    assert {body_of(serial) for serial in acknowledged} <= stored, "acknowledged reports were lost"
    assert len(stored) % AT_ONCE == 0  # a call is there as a whole or not at all
    assert len(stored) <= len(acknowledged) + AT_ONCE
    shutil.rmtree(folder)


def check_cuts(tmp_path: Path, images: int, seed: int) -> int:
    """Cut the power at so many moments, more than once at each where there are fewer; return the moments."""
    folder = tmp_path / "disk"
    folder.mkdir()
    trace, chance = traced(folder), random.Random(seed)  # noqa: S311  cuts, not secrets
    steps = sum(1 for _ in replayed(trace, folder))
    for round_ in range(-(-images // steps)):
        share = min(1.0, (images - round_ * steps) / steps)
        for disk, told in replayed(trace, folder):
            if chance.random() < share:
                acknowledged = {int(first) + more for first in told for more in range(AT_ONCE)}
                check_image(disk.after_a_cut(chance), acknowledged, tmp_path / "image")
    return steps


def test_a_power_cut_loses_nothing_acknowledged(tmp_path: Path) -> None:
    assert check_cuts(tmp_path, images=100, seed=1) > 200


@pytest.mark.slow
def test_two_thousand_power_cuts(tmp_path: Path) -> None:
    check_cuts(tmp_path, images=2000, seed=2)


def test_the_commit_file_is_flushed_while_the_store_is_open(tmp_path: Path) -> None:
    """What a power cut leaves of it is at most a moment old: an older store shows all the same."""
    folder = tmp_path / "disk"
    folder.mkdir()
    safe = [disk.safe.get("party.db.commit", b"") for disk, _ in replayed(traced(folder), folder)]
    numbers = [int(record.split()[0]) for record in safe if record]
    assert numbers == sorted(numbers)
    assert numbers[-1] == 33  # opening, the task, its group, thirty calls
    assert len(set(numbers)) > 5


def test_a_commit_file_written_before_the_commit_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check has teeth: a commit file that runs ahead has good stores refused."""
    early = """
next_number = store._database._numbers.next
def early(rows):
    found = next_number(rows)
    store._database._numbers.committed(found)
    return found
store._database._numbers.next = early
store.add_task"""
    monkeypatch.setattr(f"{__name__}.PROGRAM", PROGRAM.replace("store.add_task", early.lstrip(), 1))
    with pytest.raises(StoreRefused, match="it is older"):
        check_cuts(tmp_path, images=300, seed=1)


def test_a_store_that_does_not_flush_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check has teeth: the same program without flushes loses reports."""
    monkeypatch.setattr(f"{__name__}.PROGRAM", PROGRAM.replace("wal_autocheckpoint = 25", "synchronous = OFF"))
    with pytest.raises((AssertionError, StoreRefused), match="acknowledged reports were lost|it is older"):
        check_cuts(tmp_path, images=100, seed=1)
