"""A party that is stopped in mid-task and taken up by another version: what it keeps, and what it answers in the end.

`python -m tests.support.recorded_party FOLDER`, run with the older version's source, records both.
"""

import shutil
import sys
import time
from io import StringIO
from pathlib import Path

from tests.support.clocks import HandClock
from tests.support.parties import document, honest_entry, settings, task

from treetop.adapters.store_choice import StoreLocation
from treetop.adapters.system.structured_log import StructuredLog
from treetop.federation.party.query import PartyQuery
from treetop.federation.protocol import ServerMessage
from treetop.federation.wire.uploads import encoded_upload
from treetop.services.party.service import PartyService

TICKETS, BEFORE = 60, 45
OF = task()


def opened(folder: Path, reports: object) -> PartyService:
    chosen = settings(store=StoreLocation(str(folder / "party.db")), reports=reports)
    service = PartyService(chosen, PartyQuery, StructuredLog(StringIO()), HandClock())
    service.start()
    return service


def sent(service: PartyService, serials: range) -> list[str]:
    """Send reports; return the verdicts."""
    context = service.context
    screened = context.party.screened(OF.digest, encoded_upload([honest_entry(OF, serial) for serial in serials]))
    return [verdict.value for verdict in screened.answered(context.writer.submit(screened.admitted).result(60))]


def begun(folder: Path, reports: object) -> None:
    """Take a task on, take most of the reports, and stop."""
    service = opened(folder, reports)
    service.context.party.install(document(OF))
    service.context.party.issue(OF.digest, TICKETS)
    assert sent(service, range(BEFORE)) == ["accepted"] * BEFORE
    service.close()


def ended(folder: Path, reports: object) -> tuple[list[str], bytes]:
    """Go on with it: the last reports again and the others, and the outcome of the first message."""
    service = opened(folder, reports)
    verdicts = sent(service, range(BEFORE - 5, TICKETS))
    query = service.context.party.task(OF.digest).query
    query.tell(1, ServerMessage("close").to_bytes())
    service.context.workers.wake(OF.digest)
    end = time.monotonic() + 120
    while (outcome := query.outcome(1)) is None and time.monotonic() < end:
        time.sleep(0.05)
    service.close()
    assert outcome is not None
    return verdicts, outcome


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.mkdir()
    begun(target, target / "reports")
    for leftover in ("party.db.lock", "party.db-wal", "party.db-shm"):
        (target / leftover).unlink(missing_ok=True)
    shutil.copytree(target, target.with_suffix(".copy"))
    found = ended(target.with_suffix(".copy"), target.with_suffix(".copy") / "reports")
    (target / "outcome.json").write_bytes(found[1])
    shutil.rmtree(target.with_suffix(".copy"))
