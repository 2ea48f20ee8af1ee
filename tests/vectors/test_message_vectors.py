"""The committed messages of Panorama are what the code reads and writes, and what must be refused is refused."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.vectors.message_vectors import read

from treetop.errors import PeerViolation

VECTORS = json.loads((Path(__file__).parent / "panorama_messages.json").read_text())


@pytest.mark.parametrize("vector", VECTORS["good"])
def test_a_good_message_is_read(vector: dict[str, Any]) -> None:
    assert read(vector["kind"], vector["content"], vector["signed"]) == vector["read"]


@pytest.mark.parametrize("vector", VECTORS["bad"])
def test_a_bad_message_is_refused(vector: dict[str, Any]) -> None:
    with pytest.raises(PeerViolation):
        read(vector["kind"], vector["content"], signed=False)
