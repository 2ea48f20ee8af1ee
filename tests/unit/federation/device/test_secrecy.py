"""No private value in any repr, log, exception or file; nobody but the device touches one."""

import ast
import copy
import json
import logging
import pickle
import traceback
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.fixed_entropy import FixedEntropy
from tests.support.tasks import ENROLMENT, PUBLISHED, in_one_group, new_ledger, question, third_level

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.audit.chosen_inputs import ScriptedEntropy
from treetop.errors import PromiseBroken
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Ledger
from treetop.federation.device.private_value import PrivateValue
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import Question
from treetop.trie.user_groups import Group

SOURCE = Path(__file__).parents[4] / "src" / "treetop"
CANARY = 0b10110110
WIDE_CANARY = 987654321987654321


class FailingLedger(MemoryLedger):
    """Stores some writes, then breaks."""

    def __init__(self, writes: int) -> None:
        super().__init__()
        self._left = writes

    def replace(self, ledger: bytes) -> None:
        self._left -= 1
        if self._left < 0:
            raise OSError("disk full")
        super().replace(ledger)


def wide(oracle: str) -> DeviceTask:
    of = in_one_group("olh", Group(4)) if oracle == "olh" else third_level()
    return replace(of, lengths=(0, 2, 4, 6, 64))


def run(device: Device, oracle: str) -> None:
    of = wide(oracle)
    if oracle == "olh":
        device.answer_once(of)
    else:
        device.answer(of, ENROLMENT, question(of), PUBLISHED)


@pytest.mark.parametrize("oracle", ["krr", "olh"])
@pytest.mark.parametrize("breaks_at", range(6))
@pytest.mark.parametrize("what", ["entropy", "ledger"])
def test_a_failure_anywhere_shows_no_value(
    oracle: str, breaks_at: int, what: str, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    entropy = FixedEntropy(1, breaks_at if what == "entropy" else None)
    store = FailingLedger(breaks_at) if what == "ledger" else MemoryLedger()
    device = Device(lambda: WIDE_CANARY, entropy, Ledger(store, MemoryCounter()))
    shown = repr(device)
    try:
        run(device, oracle)
    except OSError as error:
        shown += "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())
    shown += caplog.text + "".join(capsys.readouterr()) + str(store.ledger)
    assert str(WIDE_CANARY) not in shown
    assert f"{WIDE_CANARY:x}" not in shown


class Marked(int):
    """A key or a slot that is recognised wherever it is shown."""

    def __repr__(self) -> str:
        return "the canary"


@pytest.mark.parametrize("oracle", ["krr", "olh"])
def test_a_failure_after_the_value_was_read_shows_neither_key_nor_slot(
    oracle: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Question, "slot_of", lambda *_: Marked(3))
    monkeypatch.setattr(PrivateValue, "prefix", lambda *_: Marked(3))
    lies = ScriptedEntropy(bytes(4 if oracle == "olh" else 0) + b"\xff" * 8 + bytes(1))
    device = Device(lambda: CANARY, lies, Ledger(FailingLedger(1), MemoryCounter()))
    with pytest.raises(OSError, match="disk full") as failed:
        run(device, oracle)
    shown = "".join(traceback.TracebackException.from_exception(failed.value, capture_locals=True).format())
    assert "report = " in shown
    assert "the canary" not in shown


def test_a_private_value_shows_its_kind_only() -> None:
    value = PrivateValue(CANARY, 8)
    assert repr(value) == str(value) == f"{value}" == "PrivateValue(redacted)"
    assert not hasattr(value, "__dict__")


@pytest.mark.parametrize("attempt", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_private_value_cannot_be_copied_out(attempt: Callable[[object], object]) -> None:
    with pytest.raises(PromiseBroken):
        attempt(PrivateValue(CANARY, 8))
    with pytest.raises(TypeError):
        json.dumps(PrivateValue(CANARY, 8))


def test_the_ledger_holds_no_value() -> None:
    store = MemoryLedger()
    device = Device(lambda: WIDE_CANARY, FixedEntropy(1), Ledger(store, MemoryCounter()))
    run(device, "krr")
    assert store.ledger is not None
    for form in (str(WIDE_CANARY), f"{WIDE_CANARY:x}", WIDE_CANARY.to_bytes(8, "big").hex()):
        assert form.encode() not in store.ledger


def test_only_the_device_touches_private_values() -> None:
    """Estimation, extension, pruning and everything else work on reports and public data (P12)."""
    users = {
        str(path.relative_to(SOURCE))
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "treetop.federation.device.private_value"
    }
    assert users == {"federation/device/device.py"}


def test_nobody_but_audits_and_tests_holds_a_device() -> None:
    users = {
        path.relative_to(SOURCE).parts[0]
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "treetop.federation.device.device"
    }
    assert users == {"audit", "services"}


def test_new_ledgers_are_empty() -> None:
    assert new_ledger().undelivered() == []
