"""A delivery that fails, in whatever way and however often, is followed by the same bytes."""

from pathlib import Path

import pytest
from tests.support.fake_party import PINNED, Answer, FakeParty, serving
from tests.support.fleets import fleet_task, publish_level

from treetop.adapters.http.retrying_connection import RetryingConnection, RetryPolicy
from treetop.adapters.system.durable_file import DeviceState
from treetop.adapters.system.host import SystemEntropy
from treetop.errors import TreetopError
from treetop.federation.device.trusted_task import TrustedTask
from treetop.federation.wire.uploads import ReportStatus, Ticket
from treetop.services.device.party_client import PartyClient
from treetop.services.device.single_device import SingleDevice

FAILURES: tuple[Answer | str, ...] = ("drop", "lose", (503, b"", {}), (500, b"{}", {}), (200, b"no JSON", {}))


def run(party: FakeParty, url: str, folder: Path, item: str) -> ReportStatus | None:
    """Start a device that gives a delivery up as soon as it fails."""
    state, client = DeviceState(folder), PartyClient(RetryingConnection(url, retry=RetryPolicy(in_all=0)))
    digest = party.task.digest
    try:
        trusted = TrustedTask.of(client.task(digest), digest, "north", PINNED)
        ticket = Ticket.from_bytes(party.write_tickets(1)[0])
        return SingleDevice(client, trusted, ticket, state, lambda: [item], SystemEntropy(), lambda _: None).run()
    finally:
        state.close()
        client.close()


@pytest.mark.parametrize("oracle", ["olh", "krr", "oue"])
def test_a_failed_delivery_is_followed_by_the_same_bytes(tmp_path: Path, oracle: str) -> None:
    """Also where the device starts again and its user holds another item by then."""
    party, left = FakeParty(fleet_task(oracle), enrol_until=1), list(FAILURES)
    for level in (1, 2, 3):
        publish_level(party, level)
    party.fault = lambda path, body: left.pop(0) if path.endswith("reports") and left else None
    with serving(party) as url:
        for number in range(len(FAILURES)):
            with pytest.raises(TreetopError):
                run(party, url, tmp_path, str(number))
        assert run(party, url, tmp_path, "77") is ReportStatus.REPLAYED  # one answer was lost, the report was not
    uploads = [body for path, body in party.requests if path.endswith("reports")]
    assert len(uploads) == len(FAILURES) + 1
    assert len(set(uploads)) == 1
