"""The shipped device through the weeks of a campaign, restarted in each, with other items every week."""

import json
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory

from treetop.adapters.system.durable_file import DeviceState
from treetop.audit.campaign_cycles import STARTS, AuditClock
from treetop.audit.checks import Check
from treetop.audit.shipped.device_checks import DeviceRuns, Seen, none_found
from treetop.audit.shipped.recording_party import loopback
from treetop.audit.shipped.scenes import ITEMS, Scene, three_levels
from treetop.federation.campaign import DAY, Campaign, template_of
from treetop.federation.task import Deadlines

WEEKS = 3
SEQUENCES: dict[str, tuple[bytes, ...]] = {
    **{f"always {kind}": (item,) * WEEKS for kind, item in ITEMS.items()},
    "another every week": (ITEMS["short"], ITEMS["long text"], ITEMS["not UTF-8"]),
    "in another order": (ITEMS["not UTF-8"], ITEMS["short"], ITEMS["long text"]),
}
"""What a user may hold in the weeks of a cycle."""


def weeks_of(rule: str) -> list[Scene]:
    """Return the scenes of a cycle's weeks, of tasks of three levels."""
    scene = three_levels(rule, "ids")
    campaign = Campaign(template_of(scene.task), STARTS, weeks=WEEKS)
    found = list[Scene]()
    for week in range(WEEKS):
        opens = campaign.opens(0, week)
        ends = campaign.ends(0, week)
        task = replace(
            scene.task,
            name=campaign.task_name(0, week),
            campaign=campaign.week(0, week),
            deadlines=Deadlines(opens, ends, ends),
        )
        lists = {
            group: replace(listed, question=replace(listed.question, task=task.digest))
            for group, listed in scene.lists.items()
        }
        found.append(Scene(task, lists, campaign=campaign))
    return found


def through_a_cycle(
    runs: DeviceRuns, scenes: Sequence[Scene], items: Sequence[bytes], seed: int
) -> tuple[list[Seen], Fraction]:
    """Run a device in every week, and again a day later; return what was seen, and what the cycle cost."""
    folder = runs.new_folder()
    clock = AuditClock()
    seen = list[Seen]()
    for scene, item in zip(scenes, items, strict=True):
        for again in range(2):
            clock.time = scene.task.deadlines.opens + again * DAY
            seed += 1
            seen.append(runs.run(scene, item, folder=folder, seed=seed, clock=clock))
    with closing(DeviceState(folder, clock=clock)) as state:
        return seen, state.ledger.spent


def _knew_its_week(seen: Seen) -> bool:
    """Return whether the week, with its cost, would have outlasted a power cut whenever the item was read."""
    ledgers = [disk.get("ledger", b'{"slots":[]}') for disk in seen.at_reading]
    return all(len(json.loads(ledger.partition(b"\n")[0])["slots"]) == 1 for ledger in ledgers)


def campaign_device_checks(rules: Iterable[str], seeds: int) -> list[Check]:
    """Check that a cycle has one report, and looks the same for any items in its weeks."""
    wrong = alike = unknown = 0
    with loopback() as server, TemporaryDirectory(prefix="treetop-audit-") as folder:
        runs = DeviceRuns(server, Path(folder))
        for rule in rules:
            scenes = weeks_of(rule)
            for seed in range(seeds):
                cycles = [through_a_cycle(runs, scenes, items, 100 * seed) for items in SEQUENCES.values()]
                found = [cycle for cycle, _ in cycles]
                wrong += sum(len({batch for seen in cycle for batch in seen.batches}) != 1 for cycle in found)
                wrong += sum(cost != scenes[0].task.budget.amount for _, cost in cycles)
                alike += len({tuple(_outside(seen) for seen in cycle) for cycle in found}) - 1
                unknown += sum(not _knew_its_week(seen) for cycle in found for seen in cycle)
    claim = f"{len(SEQUENCES)} sequences of items over {WEEKS} weeks"
    return [
        none_found("device_campaign_one_report", f"{claim}: a cycle has one report, and costs epsilon once", wrong),
        none_found("device_campaign_alike", "its weeks, codes, requests and pauses do not depend on the items", alike),
        none_found(
            "device_campaign_week_first", "its week and its cost are on the disk before an item is read", unknown
        ),
    ]


def _outside(seen: Seen) -> tuple[object, ...]:
    """Return all that network and machine show of a run, but for the contents of its report."""
    return seen.requests, tuple(seen.machine.slept), seen.groups, tuple(map(len, seen.machine.reads))
