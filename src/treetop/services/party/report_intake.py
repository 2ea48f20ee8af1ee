"""The one endpoint that must be fast: reports go through admission to the store, and are answered when durable."""

import asyncio
import re
from time import perf_counter

from starlette.types import Scope

from treetop.federation.party.admission import Screened
from treetop.federation.wire.uploads import ReportStatus
from treetop.services.party.host import PartyHost

_PATH = re.compile(r"/v1/tasks/([0-9a-f]{64})/reports")


def task_of(scope: Scope) -> str | None:
    """Return the task that reports are posted for, or None for any other request."""
    path: str = scope["path"]
    if scope["method"] != "POST" or not path.endswith("/reports"):
        return None
    match = _PATH.fullmatch(path)
    return match[1] if match else None


class ReportIntake:
    """Run by the party: an upload in, a verdict for each report out."""

    def __init__(self, host: PartyHost) -> None:
        self._host = host

    async def answer(self, task: str, upload: bytes) -> bytes:
        """Return the JSON answer to an upload."""
        screened = self._host.party.screened(bytes.fromhex(task), upload, self._host.limits.most_reports_per_request)
        stored = await self._stored(screened) if screened.admitted else []
        verdicts = screened.answered(stored)
        self._host.metrics.verdicts(verdicts)
        return verdicts_json(verdicts)

    async def _stored(self, screened: Screened) -> list[ReportStatus]:
        reports, metrics = len(screened.admitted), self._host.metrics
        future = self._host.writer.submit(screened.admitted)
        metrics.handed_over(reports)
        begin = perf_counter()
        try:
            return await asyncio.wrap_future(future)
        finally:
            metrics.taken_back(reports, perf_counter() - begin)


def verdicts_json(verdicts: list[ReportStatus]) -> bytes:
    """Return the answer to reports or enrolments; verdicts are plain words, so joining them is enough."""
    return ('{"verdicts":["' + '","'.join(verdicts) + '"]}').encode()
