"""Tasks that ask for names: what a device hashes at every level, whatever it holds."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.support.fixed_entropy import FixedEntropy
from tests.support.refusals import refused
from tests.support.tasks import new_ledger

from treetop.encoding.device_items import device_code, device_codes
from treetop.encoding.item_codecs import HashedText
from treetop.encoding.text_code import chunks_of
from treetop.errors import InvalidInput
from treetop.federation.device.device import Device
from treetop.federation.device.private_value import PrivateValue
from treetop.federation.documents import DocumentRefused
from treetop.federation.task import DeviceTask, Encoding, WeightedGroup
from treetop.federation.task_codec import codec_of, needs_list, steps_of
from treetop.federation.wire.report_batches import decoded_batch
from treetop.oracles.hashing import chunk_keys
from treetop.oracles.walsh.device import chunk_key, no_name
from treetop.privacy.budget import Budget
from treetop.trie.user_groups import Group

TASK = DeviceTask(
    "every text", "fruit", Budget("2"), "walsh", 10, (0, 24, 32, 40),
    tuple(WeightedGroup(Group(level), 4 - level) for level in (1, 2, 3)),
    encoding=Encoding("hashed", "c0ffee", "nfc,casefold"), reports="names",
)  # fmt: skip
CATALOGUE = replace(TASK, lengths=(0, 8), groups=TASK.groups[:1], encoding=Encoding("catalogue"), item_list="ab" * 32)
ITEMS = ["chai", "Chai", "öffnungszeiten", "天气预报", "x" * 4097, "a\udcff", ""]


def test_a_name_is_hashed_at_the_first_level_and_a_chunk_behind_it_at_the_others() -> None:
    codec = codec_of(TASK)
    assert isinstance(codec, HashedText)
    code = device_code(codec, "CHAI", steps_of(TASK))
    assert code == device_code(codec, "chai")
    name, value = codec.hash_of(b"chai"), PrivateValue(code, TASK.bits)
    chunks = chunks_of(b"chai", 2)
    assert [value.key(TASK, level) for level in (1, 2, 3)] == [
        name, chunk_key(name, 0, chunks[0], 24), chunk_key(name, 1, chunks[1], 24)
    ]  # fmt: skip


def test_a_device_and_a_party_agree_on_the_key_of_every_chunk() -> None:
    codec, texts = codec_of(TASK), ["chai", "latte", "öffnungszeiten"]
    encoded = codec.encode(texts)
    assert encoded.chunks is not None
    for level in (2, 3):
        keys = [PrivateValue(code, TASK.bits).key(TASK, level) for code in device_codes(codec, texts)]
        assert keys == chunk_keys(encoded.codes, level - 2, encoded.chunks[:, level - 2], 24).tolist()


def test_without_a_code_it_is_the_same_name_at_every_level() -> None:
    for code in (None, 1 << 40, -1):
        assert {PrivateValue(code, TASK.bits).key(TASK, level) for level in (1, 2, 3)} == {no_name(24)}
    assert device_codes(codec_of(TASK), ["x" * 4097, "a\udcff"]) == [None, None]


@pytest.mark.parametrize("task", [TASK, CATALOGUE], ids=["texts", "catalogue"])
def test_group_length_and_randomness_are_the_same_whatever_is_held(task: DeviceTask) -> None:
    codec = codec_of(task, ["chai", "latte"])
    for seed in range(20):
        seen = set()
        for item in ITEMS:
            entropy = FixedEntropy(seed)
            report = Device(lambda item=item: device_code(codec, item), entropy, new_ledger()).answer_once(task)  # type: ignore[misc]
            seen.add((decoded_batch(report).envelope.group, len(report), entropy.total, report[77:81]))
        assert len(seen) == 1


def test_a_catalogue_makes_places_of_items_and_needs_its_list() -> None:
    assert needs_list(CATALOGUE)
    assert not needs_list(TASK)
    codec = codec_of(CATALOGUE, ["chai", "latte"])
    assert device_codes(codec, ["latte", "chai", "tea"]) == [1, 0, None]
    with refused("catalogue_bits", InvalidInput, number=300, bits=9, name_bits=8):
        codec_of(CATALOGUE, list(map(str, range(300))))


def test_other_tasks_have_the_codec_that_they_name() -> None:
    ids = codec_of(replace(TASK, lengths=(0, 24), groups=TASK.groups[:1], encoding=Encoding("ids")))
    assert (ids.name, ids.bits) == ("ids", 24)
    assert codec_of(replace(TASK, lengths=(0, 24), groups=TASK.groups[:1])).encode(["chai"]).chunks is None
    assert codec_of(replace(TASK, reports="prefixes")).bits == 40
    with refused("text_chunks_without_hash", InvalidInput, name="ids"):
        codec_of(replace(TASK, encoding=Encoding("ids")))


def test_what_is_said_of_names_is_part_of_the_digest_and_of_no_other_task() -> None:
    plain = replace(TASK, reports="prefixes", encoding=Encoding("hashed", "c0ffee"))
    others = [TASK, replace(TASK, item_list="ab" * 32), replace(TASK, encoding=Encoding("hashed", "c0ffee"))]
    assert len({task.digest for task in (plain, *others)}) == 4
    for task in (plain, *others, CATALOGUE):
        assert DeviceTask.from_canonical_bytes(task.canonical_bytes()) == task
    for word in (b"reports", b"item_list", b"normalise"):
        assert b'"%s":"' % word not in plain.canonical_bytes()


@pytest.mark.parametrize("change", [
    {"reports": "secrets"}, {"reports": None}, {"item_list": "ab"}, {"item_list": "AB" * 32}, {"item_list": None},
    {"lengths": (0, 24, 33)}, {"lengths": (0, 33)}, {"lengths": (0, 0)}, {"lengths": (0,)}, {"lengths": (8, 24)},
    {"lengths": (0, 24, 40)}, {"lengths": (0, *range(24, 24 + 8 * 66, 8))}, {"oracle": "krr"},
    {"encoding": Encoding("hashed", "x", "casefold,nfc")}, {"encoding": Encoding("hashed", "x", "rot13")},
    {"encoding": Encoding("hashed", "x", "nfc,nfc")}, {"encoding": Encoding("hashed", "x", None)},  # type: ignore[arg-type]
])  # fmt: skip
def test_a_task_for_names_that_cannot_be_asked_is_no_task(change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match="cannot be asked"):
        replace(TASK, groups=TASK.groups[:1], **change)


def test_explicit_defaults_are_not_canonical() -> None:
    written = replace(TASK, reports="prefixes").canonical_bytes()
    for more in (b'"reports":"prefixes",', b'"item_list":"",'):
        place = written.index(b'"settings"')
        with pytest.raises(DocumentRefused):
            DeviceTask.from_canonical_bytes(written[:place] + more + written[place:])


def test_the_longest_text_of_all_has_a_code() -> None:
    longest = replace(TASK, lengths=(0, *range(26, 26 + 8 * 65, 8)))
    code = device_code(codec_of(longest), "https://example.org/" + "a" * 4000)
    assert code is not None
    assert code >> 8 * 64 == codec_of(longest).encode(["https://example.org/" + "a" * 4000]).codes[0]
    assert np.dtype(np.uint64).itemsize * 8 < longest.bits
