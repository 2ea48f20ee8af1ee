import os
from pathlib import Path
from threading import Thread

import pytest

from treetop.adapters.system.durable_file import CounterFile, LedgerFile, content_of, replace_durably
from treetop.adapters.system.host import POOL_BYTES, SystemEntropy
from treetop.errors import LedgerRefused


def test_no_byte_is_handed_out_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    given = iter(range(100))
    monkeypatch.setattr(os, "urandom", lambda count: bytes([next(given)]) * count)
    entropy = SystemEntropy()
    assert entropy.read(POOL_BYTES - 1) == b"\0" * (POOL_BYTES - 1)
    assert entropy.read(1) == b"\0"
    assert entropy.read(1) == b"\1"
    assert entropy.read(POOL_BYTES) == b"\2" * POOL_BYTES
    assert entropy.read(3 * POOL_BYTES) == b"\3" * 3 * POOL_BYTES
    assert entropy.read(0) == b""


def test_a_forked_process_starts_its_own_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    entropy = SystemEntropy()
    entropy.read(8)
    left = entropy._pool[8:16]
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert entropy.read(8) != left


def test_threads_share_no_bytes() -> None:
    entropy, taken = SystemEntropy(), list[bytes]()
    entropy.read(8)
    left = entropy._pool[8:16]
    thread = Thread(target=lambda: taken.append(entropy.read(8)))
    thread.start()
    thread.join()
    assert taken[0] != left
    assert entropy.read(8) == left


def test_files_are_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert content_of(path) is None
    replace_durably(path, b"one")
    replace_durably(path, b"two")
    assert content_of(path) == b"two"
    assert os.listdir(tmp_path) == ["file"]


def test_one_process_holds_a_ledger(tmp_path: Path) -> None:
    first = LedgerFile(tmp_path / "ledger")
    assert first.load() is None
    first.replace(b"content")
    with pytest.raises(LedgerRefused, match="another one"):
        LedgerFile(tmp_path / "ledger")
    first.close()
    second = LedgerFile(tmp_path / "ledger")
    assert second.load() == b"content"
    second.close()


def test_a_counter_only_rises(tmp_path: Path) -> None:
    counter = CounterFile(tmp_path / "counter")
    assert counter.read() == 0
    counter.advance(3)
    assert CounterFile(tmp_path / "counter").read() == 3
    with pytest.raises(LedgerRefused):
        counter.advance(2)


def test_a_damaged_counter_is_refused(tmp_path: Path) -> None:
    (tmp_path / "counter").write_bytes(b"three")
    with pytest.raises(LedgerRefused, match="damaged"):
        CounterFile(tmp_path / "counter").read()
