"""The order is the promise: cost and counter before the value, report and counter before anything is sent."""

import pytest
from tests.support.fixed_entropy import FixedEntropy
from tests.support.tasks import ENROLMENT, PUBLISHED, question, task, third_level

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Ledger


class Recorder:
    """Ledger, counter, value and outbox of one device, which write down when they are used."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        self.store, self.counter = MemoryLedger(), MemoryCounter()

    def load(self) -> bytes | None:
        return self.store.load()

    def replace(self, ledger: bytes) -> None:
        self.steps.append("report written" if b'"sent":"' in ledger else "cost written")
        self.store.replace(ledger)

    def read(self) -> int:
        return self.counter.read()

    def advance(self, counter: int) -> None:
        self.steps.append(f"counter {counter}")
        self.counter.advance(counter)

    def value(self) -> int:
        self.steps.append("value read")
        return 77

    def send(self, batch: bytes) -> None:
        self.steps.append("sent")


@pytest.mark.parametrize("one_shot", [True, False])
def test_the_counter_rises_before_the_value_is_read_and_again_before_the_report_is_sent(one_shot: bool) -> None:
    recorder, of = Recorder(), task() if one_shot else third_level()
    device = Device(recorder.value, FixedEntropy(1), Ledger(recorder, recorder))
    if one_shot:
        device.answer_once(of)
    else:
        device.answer(of, ENROLMENT, question(of), PUBLISHED)
    device.deliver(of, recorder)
    assert recorder.steps == [
        "cost written", "counter 1", "value read", "report written", "counter 2", "sent", "report written", "counter 3",
    ]  # fmt: skip
