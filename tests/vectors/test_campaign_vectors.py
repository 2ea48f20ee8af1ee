"""The committed vectors of campaigns are what the code does, and what must be refused is refused."""

import json
from pathlib import Path
from typing import Any

import pytest

from treetop.adapters.memory.ports import MemoryCounter, MemoryLedger
from treetop.adapters.system.key_files import PinnedKeys
from treetop.errors import LedgerRefused, PeerViolation
from treetop.federation.campaign import Campaign
from treetop.federation.device.ledger import Ledger
from treetop.federation.documents import DocumentRefused
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import checked_campaign
from treetop.federation.wire.uploads import decoded_refusals

HERE = Path(__file__).parent


def read(name: str) -> Any:
    return json.loads((HERE / name).read_text())


CAMPAIGNS, LEDGERS, CYCLES = read("campaigns.json"), read("ledgers.json"), read("cycles.json")


@pytest.mark.parametrize("vector", CAMPAIGNS["good"])
def test_a_good_campaign_has_its_digest(vector: dict[str, Any]) -> None:
    found = Campaign.from_canonical_bytes(vector["canonical"].encode())
    assert found.digest.hex() == vector["digest"]
    keys = PinnedKeys([CAMPAIGNS["signing_key"]])
    assert checked_campaign(vector["signed"].encode(), keys) == found


@pytest.mark.parametrize("broken", CAMPAIGNS["bad"])
def test_a_bad_campaign_is_refused(broken: str) -> None:
    with pytest.raises(DocumentRefused):
        Campaign.from_canonical_bytes(broken.encode())


@pytest.mark.parametrize("kind", ["good", "bad"])
def test_weekly_tasks_are_of_their_campaign_or_refused(kind: str) -> None:
    weeks = CAMPAIGNS["weeks"]
    campaign = Campaign.from_canonical_bytes(weeks["campaign"].encode())
    for text in weeks[kind]:
        task = DeviceTask.from_canonical_bytes(text.encode())
        if kind == "good":
            assert campaign.check_task(task) == task.campaign
        else:
            with pytest.raises(PeerViolation):
                campaign.check_task(task)


def test_devices_answer_once_in_a_cycle_and_all_weeks_are_among_them() -> None:
    weeks = set()
    for case in CYCLES:
        seen = [step["seen"] for step in case["steps"]]
        for cycle in range(2):
            answered = [place for place, each in enumerate(seen[3 * cycle : 3 * cycle + 3]) if len(each) > 20]
            assert len(answered) == 1
            weeks.add(answered[0])
        assert seen[6:] == ["budget_lifetime"] * 3
    assert weeks == {0, 1, 2}


@pytest.mark.parametrize("broken", LEDGERS["bad"])
def test_a_bad_ledger_is_refused(broken: str) -> None:
    with pytest.raises(LedgerRefused):
        Ledger(MemoryLedger(broken.encode()), MemoryCounter())


@pytest.mark.parametrize("broken", read("refusals.json")["bad"])
def test_bad_refusals_are_refused(broken: str) -> None:
    with pytest.raises(PeerViolation):
        decoded_refusals(bytes.fromhex(broken))
