"""How far it is from a party's worker to the compiled loop: few enough calls to be read in one sitting."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.support.clocks import HandClock
from tests.support.federations import Federation, crowd, items, order

import treetop
from treetop.adapters.memory.report_store import MemoryReportStore
from treetop.adapters.report_files.collected import CollectedReports
from treetop.federation.service_ports import AdmittedReport
from treetop.oracles import kernels
from treetop.services.party.report_collection import DeviceReportCollection
from treetop.trie.user_groups import Group

MAX_CALLS = 8
OURS = str(Path(treetop.__file__).parent)
KERNELS = {"olh": "add_support", "oue": "add_bits", "krr": "add_slots"}


def our_calls(frame: FrameType | None) -> list[str]:
    """The functions of Treetop on a stack, the outermost one first."""
    names: list[str] = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(OURS):
            names.append(frame.f_code.co_qualname)
        frame = frame.f_back
    return names[::-1]


def way_here() -> list[str]:
    """The calls from `PartyQuery.work` on, in whichever thread, and those of a thread that counts for it."""
    here, own = sys._getframe(), our_calls(sys._getframe())
    stacks = [our_calls(frame) for frame in sys._current_frames().values() if frame is not here]
    if "PartyQuery.work" in own:
        return own[own.index("PartyQuery.work") :]
    (caller,) = (stack for stack in stacks if "PartyQuery.work" in stack)
    return caller[caller.index("PartyQuery.work") :] + own


@pytest.fixture
def ways(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, ...]]:
    """Every way by which a kernel was reached."""
    found: set[tuple[str, ...]] = set()

    def probed(kernel: Callable[..., Any]) -> Callable[..., Any]:
        def probe(*arguments: Any) -> Any:
            found.add(tuple(way_here()))
            return kernel(*arguments)

        return probe

    for name in KERNELS.values():
        monkeypatch.setattr(kernels, name, probed(getattr(kernels, name)))
    return found


class Filed:
    """Devices in memory whose reports a party's own store, files and engine count."""

    def __init__(self, devices: Any, folder: Path) -> None:
        self._devices, self._task, self._store = devices, devices._task, MemoryReportStore()
        self._store.add_task(self._task.digest, b"task")
        self._store.issue_tickets(self._task.digest, 1 << 20)
        self._serial = 0
        opened: Any = SimpleNamespace(task=self._task, party=devices._party)
        nothing: Any = None
        counter = CollectedReports(self._store, folder)
        self._collection = DeviceReportCollection(
            opened, nothing, self._store, lambda: counter, clock=HandClock(0),
            verifier=lambda: nothing, stopping=lambda: False,
        )  # fmt: skip
        self.implausible = self._collection.implausible
        self.tally = self._collection.tally

    def gather(self, group: Group) -> int:
        """Put a group's reports into the store, as a party would have."""
        count = int(self._devices.gather(group))
        if count and group not in self._store.counts(self._task.digest):
            slots = self._task.unlisted_face.slots if self._task.one_shot else self._slots
            oracle = self._task.oracle_for(slots)
            layout = oracle.counting.layout(slots)
            rows = np.empty(count, dtype=layout.newbyteorder(">"))
            for name, column in zip(layout.names or (), self._devices._reports[group], strict=True):
                rows[name] = column
            bodies = [row.tobytes() for row in rows]
            self._store.submit([
                AdmittedReport(self._task.digest, self._serial + place, group, body)
                for place, body in enumerate(bodies)
            ])  # fmt: skip
            self._serial += count
            self._store.close_group(self._task.digest, group)
        return count

    def publish_list(self, document: bytes, listed: Any) -> None:
        self._slots = listed.question.slots
        self._devices.publish_list(document, listed)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._devices, name)


@pytest.mark.parametrize(("mode", "oracle"), [("one-shot", "olh"), ("rounds", "krr"), ("rounds", "oue")])
@pytest.mark.parametrize("filed", [True, False])
def test_few_calls_lead_from_a_worker_to_the_kernel(
    ways: set[tuple[str, ...]], tmp_path: Path, mode: str, oracle: str, filed: bool
) -> None:
    asked = Federation.of(order("canopy", mode, "ab", oracle=oracle), crowd({"a": 900, "b": 600}))
    if filed:
        for party in asked.parties.values():
            party.dressed = partial(Filed, folder=tmp_path / party.name)
    assert items(asked.query().run().content) == ["200", "77", "9"]
    assert ways
    for way in ways:
        assert way[:3] == ("PartyQuery.work", "PartySession.conversation", "PartySession._collect")
        assert way[-1].endswith(".support")
        assert ("EmbeddedEngine.count" in way) == filed
        assert len(way) <= MAX_CALLS, " -> ".join(way)
