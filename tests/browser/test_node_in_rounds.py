"""Node devices in rounds in front of a party that computes every device's group itself."""

import json
import subprocess

import pytest
from tests.support.fake_party import KEY, FakeParty, serving
from tests.support.fleets import fleet_task, publish_level
from tests.support.typescript import built, node

DEVICES = 12


@pytest.mark.parametrize("oracle", ["krr", "oue", "listed"])
def test_node_devices_are_in_the_groups_that_their_party_computes(oracle: str) -> None:
    party = FakeParty(fleet_task(oracle), enrol_until=DEVICES)
    for level in (1, 2, 3):
        publish_level(party, level)
    tickets = [ticket.hex() for ticket in party.write_tickets(DEVICES)]
    with serving(party) as url:
        job = {
            "party": url, "partyName": "north", "task": party.task.digest.hex(), "serverKeys": [KEY.public],
            "wait": True, "item": "77", "tickets": tickets,
        }  # fmt: skip
        script = built() / "build" / "tests" / "support" / "fleet.js"
        command = [node(), "--no-warnings", str(script)]
        done = subprocess.run(command, input=json.dumps(job), capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {"accepted": DEVICES}
    assert len(party.enrolled) == DEVICES
    assert all(len(reports) == 1 for reports in party.distinct.values())
