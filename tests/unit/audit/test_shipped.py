"""What the audit of the shipped device watches with, on cases small enough to know the answer."""

import os
import socket
import time
from pathlib import Path

import pytest

from treetop.adapters.system.durable_file import replace_durably
from treetop.adapters.system.host import SystemEntropy
from treetop.audit.checks import Odds
from treetop.audit.oracle_laws import (
    UNKNOWN,
    has_a_word_for_each_slot,
    long_list_checks,
    long_list_odds,
    words_that_set,
    worst_odds,
)
from treetop.audit.shipped import recording_party
from treetop.audit.shipped.recording_party import loopback
from treetop.audit.shipped.scenes import ITEMS, READABLE, one_list, three_levels
from treetop.audit.shipped.watched_machine import MAX_CALLS, Endless, FlushedFolder, WatchedMachine, restored
from treetop.errors import InvalidInput
from treetop.oracles.krr.device import SlotFace
from treetop.oracles.oue.device import BitsFace
from treetop.oracles.registry import ORACLES
from treetop.privacy.budget import Budget
from treetop.privacy.randomness import HALF

ODDS = Budget("1").odds_below


def flush(disk: FlushedFolder, path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    disk.fsync(handle)
    os.close(handle)


def test_a_power_cut_leaves_what_was_flushed(tmp_path: Path) -> None:
    disk, file = FlushedFolder(tmp_path), tmp_path / "file"
    file.write_bytes(b"one")
    flush(disk, file)
    assert disk.after_power_cut() == {}  # nobody has flushed the folder
    flush(disk, tmp_path)
    assert disk.after_power_cut() == {"file": b"one"}
    file.write_bytes(b"two")
    assert disk.after_power_cut() == {"file": b"one"}
    (tmp_path / "new").write_bytes(b"three")
    (tmp_path / "new").replace(file)
    assert disk.after_power_cut() == {"file": b"one"}
    flush(disk, tmp_path)
    assert disk.after_power_cut() == {"file": b""}  # its name is safe, its content is not
    flush(disk, file)
    assert disk.after_power_cut() == {"file": b"three"}
    assert FlushedFolder(restored(disk.after_power_cut(), tmp_path / "again")).history == [{"file": b"three"}]


def test_a_watched_machine_stands_in_for_the_operating_system_and_gives_it_back(tmp_path: Path) -> None:
    machine, shipped = WatchedMachine(FlushedFolder(tmp_path), seed=1), (os.urandom, os.fsync, time.sleep)
    with machine.watching():
        read = SystemEntropy().read(5)
        time.sleep(1_000)
        replace_durably(tmp_path / "file", b"content")
    assert (os.urandom, os.fsync, time.sleep) == shipped
    assert machine.reads == [read] == [machine.given[0][:5]]
    assert machine.slept == [1_000]
    assert machine.disk.after_power_cut() == {"file": b"content"}


@pytest.mark.parametrize(("reads", "fresh"), [
    ([b"ab", b"", b"cd"], True),
    ([b"ab", b"ef"], True),  # the rest of an answer may be left over
    ([b"ab", b"bc"], False),
    ([b"ab", b"ab"], False),
    ([b"ab", b"d"], False),
    ([b"ef", b"ab"], False),
    ([b"xy"], False),
])  # fmt: skip
def test_no_byte_is_used_twice_or_out_of_order(tmp_path: Path, reads: list[bytes], fresh: bool) -> None:
    machine = WatchedMachine(FlushedFolder(tmp_path))
    machine.given, machine.reads = [b"abcd", b"efgh"], reads
    assert machine.reads_are_fresh is fresh


def test_a_device_that_does_not_end_is_stopped(tmp_path: Path) -> None:
    machine = WatchedMachine(FlushedFolder(tmp_path))
    machine.slept = [0.0] * MAX_CALLS
    with machine.watching(), pytest.raises(Endless):
        time.sleep(1)


def test_a_machine_without_a_port_is_said_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(13, "Permission denied")

    monkeypatch.setattr(recording_party, "ThreadingHTTPServer", refused)
    with pytest.raises(InvalidInput, match=r"a port of 127\.0\.0\.1, found none: Permission denied"), loopback():
        pass


@pytest.mark.parametrize("head", ["Host: evil.example", "Host: {own}\r\nContent-Length: " + "9" * 5_000, "X: y"])
def test_only_what_a_device_sends_is_recorded(capfd: pytest.CaptureFixture[str], head: str) -> None:
    with loopback() as here:
        asked: list[object] = []
        here.answer = lambda *request: asked.append(request)  # type: ignore[method-assign]
        name, port = here.url.removeprefix("http://").split(":")
        with socket.create_connection((name, int(port)), timeout=30) as peer:
            peer.sendall(f"POST / HTTP/1.1\r\n{head.format(own=f'{name}:{port}')}\r\n\r\n".encode())
            assert peer.recv(10) == b""
    assert asked == []
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("encoding", ["ids", "text", "words"])
def test_every_encoding_has_items_with_and_without_a_code_in_and_outside_the_lists(encoding: str) -> None:
    scene = three_levels("krr", encoding)
    codes = {scene.code(ITEMS[kind].decode()) for kind in READABLE}
    assert None in codes
    question = scene.lists[next(iter(scene.lists))].question
    for listed in scene.lists.values():
        question = listed.question
        asked = {code is not None and code >> 16 - question.length in question.prefixes for code in codes}
        assert asked == {True, False}


@pytest.mark.parametrize("slots", [5, 6, 40, 321])
def test_a_list_has_as_many_slots_as_was_asked_for(slots: int) -> None:
    ((_, listed),) = one_list("krr", slots).lists.items()
    assert listed.question.slots == slots


@pytest.mark.parametrize("slots", range(2, 9))
def test_the_law_by_positions_is_that_of_all_reports(slots: int) -> None:
    face = BitsFace(ODDS, slots)
    by_position = long_list_odds(face, range(slots))
    (enumerated,) = worst_odds([face], range(slots))
    assert by_position.larger * enumerated.smaller == by_position.smaller * enumerated.larger


def test_words_that_set_a_bit() -> None:
    face = BitsFace(ODDS, 9)
    assert words_that_set(face, [4]) == [[face.flip] * 4 + [HALF] + [face.flip] * 4]


def test_bits_that_are_not_decided_by_their_own_word_alone_are_not_believed() -> None:
    class Swapped(BitsFace):
        def report(self, drawn: tuple[tuple[int, ...]], value: int) -> tuple[bool, ...]:
            return super().report((drawn[0][::-1],), value)

    class Agreeing(BitsFace):
        """The first bit is set where all words are low, whatever the first one says."""

        def report(self, drawn: tuple[tuple[int, ...]], value: int) -> tuple[bool, ...]:
            bits = super().report(drawn, value)
            return (bits[0] or all(word < self.flip for word in drawn[0][1:]), *bits[1:])

    class Misdeclared(BitsFace):
        @property
        def thresholds(self) -> tuple[int, ...]:
            return self.flip + 1, HALF

    for face in (Swapped, Agreeing, Misdeclared):
        assert long_list_odds(face(ODDS, 9), range(9)) == UNKNOWN


def test_an_impossible_bit_tells_everything() -> None:
    class Mute(BitsFace):
        def report(self, drawn: tuple[tuple[int, ...]], value: int) -> tuple[bool, ...]:
            return (value == 0, *super().report(drawn, value)[1:])

    found = long_list_odds(Mute(ODDS, 9), (0, 1))
    assert found.infinite
    assert not Odds(1, 1).infinite


def test_only_oracles_with_a_word_for_each_slot_are_read_by_positions() -> None:
    assert not has_a_word_for_each_slot(SlotFace(ODDS, 9))
    assert long_list_checks(ORACLES["krr"], True) == long_list_checks(ORACLES["olh"], True) == []
    assert [check.name for check in long_list_checks(ORACLES["oue"], True)] == ["exact_long_oue", "tight_long_oue"]
