"""R2: a server killed at any write of a campaign goes on to the same tasks, the same answers and the same journal."""

from io import StringIO
from threading import Thread

import pytest
from tests.support.clocks import NOW, HandClock
from tests.support.fixed_entropy import FixedEntropy
from tests.support.journals import Crash, ScriptedJournal, crashing
from tests.support.parties import SIGNING
from tests.support.servers import channels, wanted_campaign

from treetop.adapters.system.telemetry import StructuredLog
from treetop.services.server import query_manager
from treetop.services.server.campaign_manager import CampaignManager
from treetop.services.server.query_manager import QueryManager

EVERY = 1000
SIZES = {"north": 90, "south": 60}
MOMENTS = ("before", "after")


class RunAtOnce(Thread):
    """A query runs to its end where it is started: a crash in it is one of the server."""

    def start(self) -> None:
        self.run()


class Server:
    """Processes of one server over one journal, by a clock that a test moves."""

    def __init__(self, weeks: int) -> None:
        self.journal, self.clock, self.channels = ScriptedJournal(), HandClock(NOW), channels(SIZES)
        self.weeks, self.campaign = weeks, ""
        self.begin()

    def begin(self) -> None:
        """Start a process of the server."""
        openers = {name: (lambda _most, found=channel: found) for name, channel in self.channels.items()}
        self.log = StringIO()
        log = StructuredLog(self.log)
        self.queries = QueryManager(
            self.journal, SIGNING, openers, clock=self.clock, entropy=FixedEntropy(9), log=log, expected=SIZES
        )
        self.campaigns = CampaignManager(self.journal, SIGNING, self.queries, clock=self.clock, log=log)

    def live(self) -> None:
        """Start a campaign and go through its weeks, from wherever the last process stopped."""
        self.campaigns.resume()
        if self.clock.now() < NOW + EVERY:  # nobody was told that it had been taken
            self.campaign = self.campaigns.take(wanted_campaign(every=EVERY, weeks=self.weeks)).campaign
        while self.campaigns.advance() < float("inf"):
            self.clock.wall += EVERY

    def kept(self) -> dict[str, dict[str, bytes]]:
        """Return the whole journal."""
        return {book: dict(entries) for book, entries in self.journal.kept.items()}


@pytest.fixture(autouse=True)
def _without_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(query_manager, "Thread", RunAtOnce)


@pytest.mark.parametrize("weeks", [2, pytest.param(4, marks=pytest.mark.slow)])
def test_a_server_killed_at_every_journal_write_goes_on_to_the_same_bytes(weeks: int) -> None:
    """Decisions, tasks, lists of names from earlier answers, and the answers themselves."""
    whole = Server(weeks)
    whole.live()
    expected, writes = whole.kept(), whole.journal.writes
    shown = whole.campaigns.state(whole.campaign)
    assert [week.state for week in shown.answers] == ["answered"] * weeks
    assert len(expected["orders"]) == weeks
    for write in range(1, writes + 1):
        for moment in MOMENTS:
            server = Server(weeks)
            with crashing(server.journal, write, moment), pytest.raises(Crash):
                server.live()
            server.begin()
            server.live()
            assert server.kept() == expected, (write, moment)
            assert server.campaigns.state(whole.campaign) == shown
    assert writes >= 14 * weeks - 2
