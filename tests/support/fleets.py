"""Small fleets in front of a fake party."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from tests.support.fake_party import PINNED, FakeParty
from tests.support.tasks import GROUPS, task

from treetop.adapters.http.retrying_connection import RetryPolicy
from treetop.datasets.party_split import HeldItems
from treetop.federation.task import DeviceTask
from treetop.federation.wire.signed_documents import Publication
from treetop.services.fleet.fleet import Fleet, FleetPlan
from treetop.trie.user_groups import Group

PATIENCE = RetryPolicy(in_all=30, first_pause=0.005, longest_pause=0.05, answer_within=20)


def fleet_task(oracle: str = "olh", epsilon: str = "1") -> DeviceTask:
    return replace(task(oracle, epsilon), parties=("north", "south"), groups=GROUPS[:3])


def fleet_of(party: FakeParty, url: str, state: Path, devices: int, batch: int = 50, **plan_of: Any) -> Fleet:
    held = HeldItems([str(item) for item in range(0, 300, 7)], np.arange(devices) % 43)
    plan = FleetPlan(
        url, party.task.digest, "north", party.write_tickets(devices), state, PINNED, batch=batch, retry=PATIENCE,
        **plan_of,
    )  # fmt: skip
    return Fleet(plan, held, f"{devices} devices")


def publish_level(party: FakeParty, level: int) -> None:
    """Publish all prefixes of a level (`tests.support.tasks.LENGTHS`: two bits each)."""
    published = Publication(2 * level - 2, tuple(range(1 << (2 * level - 2))))
    party.publish(Group(level), published, tuple(range(1 << (2 * level))))
