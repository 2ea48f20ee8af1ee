"""A campaign on this machine: weeks of a few seconds, users whose items change between them, any process may die."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from treetop.datasets.federation import Federation
from treetop.federation.server.order_json import order_to_json
from treetop.secret_files import private_folder
from treetop.services.fleet.fleet import tickets_of
from treetop.services.local.flower import FlowerCarrier
from treetop.services.local.folder import FederationFolder
from treetop.services.local.processes import Processes
from treetop.services.local.run import POLL_SECONDS, LocalFederation, Standing, order_of

SHORTEST_WEEK = 6
STARTS = 3
DEVICES_A_START = 6_000
"""Seconds of a week at least. Otherwise a week lasts as long as so many starts of all processes on this machine, and
one more for so many devices: the answer of the week before is counted, and every device writes its ledger."""
BEFORE_THE_FIRST = 1
"""Seconds from the order to the first week."""
NOT_OF_WEEKS = ("deadlines", "mode")


class LocalCampaign(LocalFederation):
    """Processes of one folder; the fleets follow their parties from week to week."""

    def __init__(
        self,
        folder: FederationFolder,
        processes: Processes,
        weeks: Sequence[Federation],
        carrier: FlowerCarrier | None = None,
    ) -> None:
        super().__init__(folder, processes, carrier=carrier)
        self._weeks = weeks
        self._weeks_played = 0
        self._started = 0.0

    def start(self) -> None:
        """Start the server and every party, and measure how long that takes here."""
        begun = time.monotonic()
        super().start()
        self._started = time.monotonic() - begun

    @property
    def _week_seconds(self) -> int:
        """Return how long a week lasts: as was asked for, or so long that every device has its turn on this machine."""
        devices = sum(home.users for home in self.folder.parties.values())
        needed = int(self._started * (STARTS + devices / DEVICES_A_START)) + 1
        return self.folder.options.every or max(SHORTEST_WEEK, needed)

    def ask(self) -> str:
        """Start the campaign, unless that was done before; return its digest."""
        if self.folder.task is None:
            options = self.folder.options
            listed = self.folder.listed
            users = {name: home.users for name, home in self.folder.parties.items()}
            order = order_to_json(order_of(options, users, listed, int(time.time())))
            asked = {name: value for name, value in order.items() if name not in NOT_OF_WEEKS} | {
                "starts": int(time.time()) + BEFORE_THE_FIRST,
                "every": self._week_seconds,
                "weeks": options.weeks,
            }
            if listed is not None:
                self.tried(lambda: self.server.keep_list(listed), "the server took no list")
            shown = self.tried(lambda: self.server.start_campaign(asked), "the server took no campaign")
            self.folder.remember_task(shown["campaign"])
        return self.folder.task or ""

    def weeks(self, progress: Callable[[Standing], None]) -> list[dict[str, Any]]:
        """Play every week; return what the server says of each, once all of them are over."""
        campaign = self.ask()
        while True:
            shown = self.tried(lambda: self.server.campaign(campaign), "the server did not answer")
            weeks: list[dict[str, Any]] = shown["answers"]
            if shown["state"] == "over" and all(week["state"] != "running" for week in weeks):
                return weeks
            self._play(weeks)
            doing = weeks[-1]["doing"] if weeks else "waiting for the first week"
            where = f"week {len(weeks)} of {len(self._weeks)}, {doing}"
            progress(Standing(self.reported(), {"doing": where, "steps": len(weeks)}))
            self.processes.revive()
            time.sleep(POLL_SECONDS)

    def _play(self, weeks: Sequence[dict[str, Any]]) -> None:
        """Say what the users hold in a week that has begun, and give them tickets: their devices wait for these."""
        week = weeks[-1] if len(weeks) > self._weeks_played else None
        if week is None or week["state"] != "running":
            return
        self.folder.hand_out(self._weeks[week["number"] - 1])
        epsilon = self.folder.options.epsilon
        for name, home in self.folder.parties.items():
            tickets = home.path / "fleet" / "tickets"
            private_folder(tickets)
            self.keep_tickets(name, home, week["task"], tickets_of(tickets, bytes.fromhex(week["task"])))
            if name not in self.fleets:
                self.fleets[name] = self.fleet(
                    name, home, home.path / "fleet", epsilon, "--follow", "--tickets", str(tickets)
                )
        self._weeks_played = week["number"]
