"""Devices that hold sets: one report, as many random bytes whatever they hold, and nothing of T anywhere else."""

import copy
import json
import pickle
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from tests.support.fixed_entropy import FixedEntropy
from tests.support.refusals import refused
from tests.support.tasks import in_one_group, new_ledger, task

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.audit.chosen_inputs import ScriptedEntropy
from treetop.errors import InvalidInput, PromiseBroken, ValueUnavailable
from treetop.federation.device.device import Device
from treetop.federation.device.ledger import Ledger
from treetop.federation.device.private_value import PrivateSet
from treetop.federation.party.admission import HEAD_BYTES, TaskAdmission
from treetop.federation.task import DeviceTask
from treetop.federation.task_parameters import parameters_of
from treetop.federation.wire.report_batches import decoded_batch
from treetop.federation.wire.uploads import ReportStatus, TicketedReport, TicketKey, encoded_upload
from treetop.oracles.protocol import NO_CODE_KEY, key_of
from treetop.oracles.set_reports import SetFace, SetQuestion
from treetop.trie.user_groups import Group

HOLDERS = SetQuestion(3, "holders")
TASK = task("olh", sets=HOLDERS)
WIDE = task("walsh", "4", sets=SetQuestion(8, "holders"))
SETS: dict[str, Mapping[bytes, int | None]] = {
    "none": {}, "one": {b"a": 7}, "three": {b"a": 7, b"b": 9, b"c": 200}, "without a code": {b"x": None, b"y": None},
    "more": {bytes([place]): place for place in range(40)},
}  # fmt: skip


def answer(of: DeviceTask, held: Mapping[bytes, int | None], entropy: Any) -> bytes:
    return Device(lambda: held, entropy, new_ledger()).answer_once(of)


@pytest.mark.parametrize("of", [TASK, WIDE])
def test_group_length_seed_and_randomness_are_the_same_whatever_is_held(of: DeviceTask) -> None:
    for seed in range(10):
        seen = set()
        for held in SETS.values():
            entropy = FixedEntropy(seed)
            report = answer(of, held, entropy)
            seen.add((decoded_batch(report).envelope, len(report), entropy.total, report[HEAD_BYTES : HEAD_BYTES + 4]))
        assert len(seen) == 1


def test_the_report_is_that_of_the_face_with_the_keys_of_the_level() -> None:
    of, script = replace(in_one_group("olh", Group(2)), sets=HOLDERS), bytes(range(60))
    held = {b"a": 0b10110110, b"b": None, b"c": 0b10111111}
    face, entropy = of.unlisted_face, ScriptedEntropy(script)
    assert isinstance(face, SetFace)
    keys = {b"a": key_of(0b1011), b"b": NO_CODE_KEY, b"c": key_of(0b1011)}
    assert answer(of, held, ScriptedEntropy(script))[HEAD_BYTES:] == face.encode(face.draw(entropy).report(keys))


def test_a_task_asked_again_gets_the_same_bytes_and_the_set_is_not_read_again() -> None:
    reads: list[int] = []

    def read() -> Mapping[bytes, int | None]:
        reads.append(1)
        return SETS["more"]

    ledger = new_ledger()
    first = Device(read, FixedEntropy(1), ledger).answer_once(TASK)
    assert Device(read, FixedEntropy(2), ledger).answer_once(TASK) == first
    assert len(reads) == 1


def test_the_ledger_keeps_the_bytes_of_the_report_alone() -> None:
    """Neither the items nor the key that chose some of them."""
    store, canaries = MemoryLedger(), {b"canary %d" % number: number for number in range(9)}
    script = FixedEntropy(3)
    drawn: list[bytes] = []

    class Recording:
        def read(self, count: int) -> bytes:
            drawn.append(script.read(count))
            return drawn[-1]

    batch = Device(lambda: canaries, Recording(), Ledger(store, MemoryCounter())).answer_once(TASK)
    content = json.loads((store.ledger or b"").partition(b"\n")[0])
    (entry,) = content["entries"]
    assert set(entry) == {"task", "attribute", "group", "domain", "epsilon", "sent", "delivered", "time", "cycle"}
    assert entry["sent"] == batch.hex()
    key = next(read for read in drawn if len(read) == 32)
    for secret in (key, *canaries):
        assert secret.hex() not in str(content)


class Failing(dict[bytes, int | None]):
    def __getitem__(self, item: bytes) -> int | None:
        raise OSError(f"{item!r} cannot be read")


def test_a_failure_while_the_set_is_read_shows_no_item() -> None:
    device = Device(lambda: Failing({b"canary": 7}), FixedEntropy(1), new_ledger())
    with refused("items_unavailable", ValueUnavailable) as failed:
        device.answer_once(TASK)
    shown = "".join(traceback.TracebackException.from_exception(failed.value, capture_locals=True).format())
    assert "canary" not in shown
    assert failed.value.__suppress_context__


def test_a_private_set_shows_nothing_and_cannot_be_copied_out() -> None:
    private = PrivateSet({b"canary": 7}, TASK, 1)
    assert repr(private) == str(private) == "PrivateSet(redacted)"
    assert (len(private), list(private), private[b"canary"]) == (1, [b"canary"], key_of(0))
    for attempt in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(PromiseBroken):
            attempt(private)


def test_what_is_asked_of_sets_is_part_of_the_digest_and_of_no_other_task() -> None:
    plain = replace(TASK, sets=None)
    others = [SetQuestion(2, "holders"), SetQuestion(1, "shares"), SetQuestion(1, "use_shares")]
    tasks = [plain, TASK, *(replace(TASK, sets=asked) for asked in others)]
    assert len({each.digest for each in tasks}) == 5
    for each in tasks:
        assert DeviceTask.from_canonical_bytes(each.canonical_bytes()) == each
    assert b"sets" not in plain.canonical_bytes()
    assert TASK.thresholds == {"own": str(TASK.unlisted_face.task_thresholds()["own"]), "buckets": "13", "items": "3"}


@pytest.mark.parametrize("oracle", ["krr", "oue", "listed"])
def test_devices_with_sets_do_not_answer_lists(oracle: str) -> None:
    with refused("oracle_without_sets", InvalidInput, set_forms="olh or walsh"):
        task(oracle, sets=HOLDERS)


@pytest.mark.parametrize("items", [True, 8.0])
def test_a_number_of_items_is_a_whole_number(items: Any) -> None:
    with pytest.raises(InvalidInput, match="items_per_user must be a whole number from 1 to 64"):
        task(sets=SetQuestion(items, "holders" if items > 1 else "shares"))


def test_a_task_about_several_items_gives_its_mechanism_the_p_and_q_of_sets() -> None:
    of = replace(TASK, mechanism="canopy", settings=(("bits", "8"),))
    assert getattr(parameters_of(of), "items_per_user") == 3  # noqa: B009  a setting of its own
    assert getattr(parameters_of(replace(of, sets=None)), "items_per_user") == 1  # noqa: B009


@pytest.mark.parametrize(
    ("of", "width"), [(TASK, 5), (WIDE, 6), (task("walsh", "4", sets=SetQuestion(1, "shares")), 5)]
)
def test_a_party_takes_bodies_of_the_size_that_oracle_and_items_give(of: DeviceTask, width: int) -> None:
    key = TicketKey(bytes(32))
    admission, ticket = TaskAdmission(of, "north", key), key.write(of.digest, 1).to_bytes()
    batch = answer(of, SETS["more"], FixedEntropy(1))
    assert len(batch) == HEAD_BYTES + width

    def verdict(sent: bytes) -> ReportStatus | None:
        return admission.screened(encoded_upload([TicketedReport(ticket, sent)]), 0).verdicts[0]

    slots = of.unlisted_face.slots
    other = 2 * slots if of.oracle == "walsh" else slots + 1
    assert verdict(batch) is None
    assert verdict(batch[:-1]) is ReportStatus.MALFORMED
    assert verdict(batch + b"\0") is ReportStatus.MALFORMED
    assert verdict(batch[: HEAD_BYTES + 4] + slots.to_bytes(width - 4, "big")) is ReportStatus.MALFORMED
    resized = batch[:69] + other.to_bytes(4, "big") + batch[73:]
    assert verdict(resized) in (ReportStatus.WRONG_LIST, ReportStatus.MALFORMED)
    single = replace(of, sets=None)
    assert verdict(Device(lambda: 7, FixedEntropy(1), new_ledger()).answer_once(single)) is ReportStatus.UNKNOWN_TASK
