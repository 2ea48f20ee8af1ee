"""The committed vectors are what the code does, and what must be refused is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from treetop.adapters.system.key_files import PinnedKeys
from treetop.errors import PeerViolation, ReportRefused
from treetop.federation.documents import DocumentRefused
from treetop.federation.task import DeviceTask
from treetop.federation.wire.item_lists import ItemList
from treetop.federation.wire.report_batches import decoded_batch, encoded_batch
from treetop.federation.wire.signed_documents import Beacon, PublishedList, checked, checked_task
from treetop.federation.wire.uploads import Ticket, TicketKey, decoded_upload, encoded_upload
from treetop.oracles.krr.counting import SlotCounting
from treetop.oracles.krr.device import keep_threshold
from treetop.oracles.olh.counting import HashCounting
from treetop.oracles.oue.counting import BitsCounting
from treetop.oracles.oue.device import flip_threshold
from treetop.oracles.walsh.counting import ParityCounting
from treetop.oracles.walsh.device import keep_threshold as walsh_keep_threshold
from treetop.privacy.epsilon import Epsilon

HERE = Path(__file__).parent


def read(name: str) -> Any:
    return json.loads((HERE / name).read_text())


def test_vectorised_devices_have_the_thresholds_of_the_vectors() -> None:
    for vector in read("thresholds.json"):
        epsilon = Epsilon(vector["epsilon"])
        for slots, keep in vector["keep"].items():
            assert keep_threshold(SlotCounting(epsilon, int(slots)).odds, int(slots)) == int(keep)
        assert str(flip_threshold(BitsCounting(epsilon, 2).odds)) == vector["flip"]
        assert HashCounting(epsilon, 2).report_slots == vector["buckets"]
        walsh = ParityCounting(epsilon, 2)
        assert walsh.report_slots == vector["outcomes"]
        assert walsh_keep_threshold(walsh.odds, vector["outcomes"]) == int(vector["walsh_keep"])


SETS = read("set_tasks.json")


@pytest.mark.parametrize("batch", read("batches.json")["good"] + SETS["batches"]["good"])
def test_a_good_batch_is_read_and_written_back(batch: str) -> None:
    decoded = decoded_batch(bytes.fromhex(batch))
    assert encoded_batch(decoded.envelope, decoded.reports()).hex() == batch


@pytest.mark.parametrize("batch", read("batches.json")["bad"] + SETS["batches"]["bad"])
def test_a_bad_batch_is_refused(batch: str) -> None:
    with pytest.raises((PeerViolation, ReportRefused)):
        decoded_batch(bytes.fromhex(batch)).reports()


@pytest.mark.parametrize("task", read("tasks.json")["good"] + SETS["good"])
def test_a_good_task_has_its_digest(task: dict[str, str]) -> None:
    assert DeviceTask.from_canonical_bytes(task["canonical"].encode()).digest.hex() == task["digest"]


@pytest.mark.parametrize("task", read("tasks.json")["bad"] + SETS["bad"])
def test_a_bad_task_is_refused(task: str) -> None:
    with pytest.raises(DocumentRefused):
        DeviceTask.from_canonical_bytes(task.encode())


@pytest.mark.parametrize("listed", read("item_lists.json")["good"])
def test_a_good_list_is_read(listed: dict[str, Any]) -> None:
    found = ItemList.from_document(bytes.fromhex(listed["document"]), listed["digest"])
    assert (list(found.items), found.ordered, found.source) == (listed["items"], listed["ordered"], listed["source"])
    assert found.digest == listed["digest"]


@pytest.mark.parametrize("listed", read("item_lists.json")["bad"])
def test_a_bad_list_is_refused(listed: dict[str, Any]) -> None:
    with pytest.raises(PeerViolation):
        ItemList.from_document(bytes.fromhex(listed["document"]), listed["digest"])


SIGNED = read("signed_documents.json")
SERVER = PinnedKeys([SIGNED["public_key"]])


def test_good_signed_documents_are_read_and_written_back() -> None:
    task = checked_task(SIGNED["good"][0]["document"].encode(), SERVER)
    oracles = set()
    for vector in SIGNED["good"][1:]:
        content = checked(vector["kind"], vector["document"].encode(), SERVER)
        if vector["kind"] == "beacon":
            assert Beacon.from_bytes(content).task == task.digest
        else:
            listed = PublishedList.from_bytes(content, task)
            assert listed.question.task == task.digest
            oracles.add(json.loads(content)["oracle"])
    assert oracles == {"krr", "oue"}


@pytest.mark.parametrize("vector", SIGNED["bad"])
def test_a_bad_signed_document_is_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(PeerViolation):
        checked(vector["kind"], vector["document"].encode(), SERVER)


UPLOADS = read("uploads.json")


def test_tickets_are_those_of_their_secret_and_task() -> None:
    key, task = TicketKey(bytes.fromhex(UPLOADS["secret"])), bytes.fromhex(UPLOADS["task"])
    for text in UPLOADS["tickets"]:
        ticket = bytes.fromhex(text)
        assert key.wrote(task, ticket)
        assert key.write(task, Ticket.from_bytes(ticket).serial).text == text
        assert not key.wrote(bytes(32), ticket)
        assert not any(
            key.wrote(task, ticket[:place] + bytes([ticket[place] ^ 1]) + ticket[place + 1 :]) for place in range(24)
        )


@pytest.mark.parametrize("upload", UPLOADS["good"])
def test_a_good_upload_is_read_and_written_back(upload: str) -> None:
    assert encoded_upload(decoded_upload(bytes.fromhex(upload))).hex() == upload


@pytest.mark.parametrize("upload", UPLOADS["bad"])
def test_a_bad_upload_is_refused(upload: str) -> None:
    with pytest.raises(PeerViolation):
        decoded_upload(bytes.fromhex(upload))
