"""The committed vectors are what the code does, and what must be refused is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.vectors.generate_device_vectors import FILES, text_of

from treetop.adapters.system.vectorised_device import SlotLaw
from treetop.errors import InvalidInput, PeerViolation, ReportRefused
from treetop.federation.budgets import Budget
from treetop.federation.task import DeviceTask
from treetop.federation.wire_format import decoded_batch, encoded_batch

HERE = Path(__file__).parent


def read(name: str) -> Any:
    return json.loads((HERE / name).read_text())


@pytest.mark.parametrize("name", FILES)
def test_the_committed_file_is_what_the_script_writes(name: str) -> None:
    assert (HERE / name).read_text() == text_of(name)


def test_vectorised_devices_have_the_thresholds_of_the_vectors() -> None:
    for vector in read("thresholds.json"):
        for slots, keep in vector["keep"].items():
            assert SlotLaw.of(Budget(vector["epsilon"]), int(slots)).keep == int(keep)


@pytest.mark.parametrize("batch", read("batches.json")["good"])
def test_a_good_batch_is_read_and_written_back(batch: str) -> None:
    decoded = decoded_batch(bytes.fromhex(batch))
    assert encoded_batch(decoded.envelope, decoded.reports()).hex() == batch


@pytest.mark.parametrize("batch", read("batches.json")["bad"])
def test_a_bad_batch_is_refused(batch: str) -> None:
    with pytest.raises((PeerViolation, ReportRefused)):
        decoded_batch(bytes.fromhex(batch)).reports()


@pytest.mark.parametrize("task", read("tasks.json")["good"])
def test_a_good_task_has_its_digest(task: dict[str, str]) -> None:
    assert DeviceTask.from_canonical_bytes(task["canonical"].encode()).digest.hex() == task["digest"]


@pytest.mark.parametrize("task", read("tasks.json")["bad"])
def test_a_bad_task_is_refused(task: str) -> None:
    with pytest.raises(InvalidInput):
        DeviceTask.from_canonical_bytes(task.encode())
