from dataclasses import replace

import pytest
from tests.support.fixed_entropy import FixedEntropy
from tests.support.refusals import refused
from tests.support.tasks import CHILDREN, ENROLMENT, PUBLISHED, new_ledger, question, task, third_level

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.errors import BudgetExceeded, PromiseBroken, QuestionRefused, ValueUnavailable
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Ledger
from treetop.federation.wire.report_batches import NO_DOMAIN, decoded_batch


class Sent:
    def __init__(self) -> None:
        self.batches: list[bytes] = []

    def send(self, batch: bytes) -> None:
        self.batches.append(batch)


def test_a_one_shot_report_names_task_level_and_buckets() -> None:
    one, ledger = task("olh", "2"), new_ledger()
    batch = decoded_batch(Device(lambda: 77, FixedEntropy(1), ledger).answer_once(one))
    entry = ledger.entry(one.digest)
    assert entry is not None
    assert batch.envelope.task == one.digest
    assert batch.envelope.group == entry.group
    assert (batch.envelope.oracle.name, batch.envelope.slots, batch.envelope.domain) == ("olh", 9, NO_DOMAIN)
    assert len(batch.bodies) == 1
    assert entry.epsilon == 2


@pytest.mark.parametrize("oracle", ["krr", "oue"])
def test_a_report_in_rounds_names_its_candidate_list(oracle: str) -> None:
    of = third_level(oracle)
    batch = decoded_batch(
        Device(lambda: 77, FixedEntropy(1), new_ledger()).answer(of, ENROLMENT, question(of), PUBLISHED)
    )
    assert batch.envelope.domain == question(of).digest
    assert (batch.envelope.oracle.name, batch.envelope.slots) == (oracle, 17)
    batch.reports()


def test_asking_again_returns_the_same_bytes() -> None:
    store, counter, of = MemoryLedger(), MemoryCounter(), third_level()
    entropy = FixedEntropy(1)
    answers = {
        Device(lambda: 77, entropy, Ledger(store, counter)).answer(of, ENROLMENT, question(of), PUBLISHED)
        for _ in range(1_000)
    }
    assert len(answers) == 1


def test_a_changed_value_does_not_change_a_report() -> None:
    one, ledger = task(), new_ledger()
    first = Device(lambda: 77, FixedEntropy(1), ledger).answer_once(one)
    assert Device(lambda: 200, FixedEntropy(2), ledger).answer_once(one) == first


def test_another_list_of_an_answered_task_gets_nothing() -> None:
    of, ledger = third_level(), new_ledger()
    device = Device(lambda: 77, FixedEntropy(1), ledger)
    device.answer(of, ENROLMENT, question(of), PUBLISHED)
    other = replace(question(of), prefixes=CHILDREN[1:], pruned=CHILDREN[:1])
    with refused("answered_another_list", PromiseBroken):
        device.answer(of, ENROLMENT, other, PUBLISHED)


def test_modes_do_not_mix() -> None:
    with pytest.raises(QuestionRefused, match="rounds"):
        Device(lambda: 77, FixedEntropy(1), new_ledger()).answer_once(task("krr"))


def test_a_task_beyond_the_cap_is_refused_before_anything_is_drawn() -> None:
    entropy = FixedEntropy(1)
    with pytest.raises(BudgetExceeded):
        Device(lambda: 77, entropy, new_ledger()).answer_once(task(epsilon="5"))
    assert entropy.total == 0


def test_a_report_is_delivered_and_noted() -> None:
    one, ledger, outbox = task(), new_ledger(), Sent()
    device = Device(lambda: 77, FixedEntropy(1), ledger)
    with refused("no_report_to_send", PromiseBroken):
        device.deliver(one, outbox)
    answer = device.answer_once(one)
    device.resume(outbox)
    device.resume(outbox)
    device.deliver(one, outbox)
    assert outbox.batches == [answer, answer]
    assert ledger.undelivered() == []


def test_a_value_that_cannot_be_read_costs_but_says_nothing() -> None:
    def read() -> int:
        raise KeyError("the canary is here")

    ledger, one = new_ledger(), task()
    with pytest.raises(ValueUnavailable) as failed:
        Device(read, FixedEntropy(1), ledger).answer_once(one)
    assert "canary" not in str(failed.value)
    assert failed.value.__cause__ is None
    assert ledger.spent == 1
    assert Device(lambda: 77, FixedEntropy(1), ledger).answer_once(one)


@pytest.mark.parametrize("value", [None, -1, 256, 1 << 100])
def test_a_value_without_a_code_is_answered_with_the_dummy(value: int | None) -> None:
    of = third_level(epsilon="4")
    slots = [
        decoded_batch(
            Device(lambda: value, FixedEntropy(seed), new_ledger()).answer(of, ENROLMENT, question(of), PUBLISHED)
        ).reports()[0]
        for seed in range(60)
    ]
    assert slots.count(16) > 30


def test_a_device_has_no_seed() -> None:
    from inspect import signature

    assert list(signature(Device).parameters) == ["value", "entropy", "ledger"]
