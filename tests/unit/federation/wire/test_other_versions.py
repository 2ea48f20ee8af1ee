"""R18: bytes of another version of the wire are refused, never guessed."""

import pytest
from tests.support.parties import honest_entry, task

from treetop.errors import PeerViolation
from treetop.federation.wire.report_batches import decoded_batch
from treetop.federation.wire.uploads import decoded_upload, encoded_upload


@pytest.mark.parametrize("version", [0, 2, 255])
def test_reports_of_another_version_are_refused(version: int) -> None:
    entry = honest_entry(task(), 1)
    upload = encoded_upload([entry])
    assert upload[0] == entry.batch[0] == 1
    with pytest.raises(PeerViolation, match="version of an upload"):
        decoded_upload(bytes([version]) + upload[1:])
    with pytest.raises(PeerViolation, match="version"):
        decoded_batch(bytes([version]) + entry.batch[1:])
