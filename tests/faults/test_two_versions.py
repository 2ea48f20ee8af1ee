"""R18: processes of two versions side by side, in one federation and over one task.

The older one is the source of a commit before campaigns; parties, servers and devices of both answer the same query.
"""

import io
import json
import shutil
import subprocess
import sys
import tarfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.support.federations import crowd
from tests.support.running_federation import RunningFederation, listening_port

from treetop.federation.wire.refusals import Refusal
from treetop.services.device.party_client import PartyClient

ROOT = Path(__file__).parents[2]
OLDER = "d31107f7794ea4f5cf0e2d859a268695b9a2cc87"
"""Before campaigns, refusals by code, several processes of a party and the pages."""
SIZES = {"north": 300, "south": 200}
PARTS = ("server", "north", "south")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The source of both versions."""
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("this is no clone of the repository: the older version's source is not there")
    archive = subprocess.run([git, "-C", str(ROOT), "archive", OLDER, "src"], capture_output=True, check=False)
    if archive.returncode:
        pytest.skip(f"the older version's commit is not there: {archive.stderr.decode().strip()}")
    folder = tmp_path_factory.mktemp("older")
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
        packed.extractall(folder, filter="data")
    return {"older": folder / "src", "newer": ROOT / "src"}


class TwoVersions(RunningFederation):
    """A federation whose processes are of the versions that it is told, and can be replaced by the other."""

    def __init__(self, folder: Path, sources: Mapping[str, Path], versions: Mapping[str, str]) -> None:
        super().__init__(folder, SIZES)
        self.sources, self.versions = sources, dict(versions)

    def _started(self, name: str, role: str) -> Any:
        with running(self.sources[self.versions[name]]):
            return super()._started(name, role)

    def replace(self, name: str, version: str) -> None:
        """Stop a process as an operator does, and start the other version in its place."""
        role, process = ("server", self.server) if name == "server" else ("party", self.parties[name])
        process.stop()
        settings = self.folder / name / f"{role}.toml"
        settings.write_text(settings.read_text().replace('127.0.0.1:0"', f'127.0.0.1:{self.ports[name]}"'))
        (self.folder / name / "log.jsonl").unlink()
        self.versions[name] = version
        started = self._started(name, role)
        assert listening_port(started) == self.ports[name]
        if name == "server":
            self.server = started
        else:
            self.parties[name] = started

    def tickets_in_files(self, name: str, task: str) -> dict[str, Path]:
        """Deal the tickets of a party out to devices of both versions, half and half."""
        tickets, files = self.tickets(name, task), {}
        for half, version in enumerate(self.sources):
            files[version] = self.folder / name / f"{task}.{version}.tickets"
            files[version].write_text("\n".join(ticket.hex() for ticket in tickets[half::2]))
        return files

    def report(self, name: str, task: str, version: str, tickets: Path) -> dict[str, Any]:
        """Let devices of a version answer, in a process of their own."""
        held = crowd(self.sizes)[name][list(self.sources).index(version) :: 2]
        data = self.folder / name / f"{version}.csv"
        rows = [f"{name},{item},{users}" for item, users in Counter(held).items()]
        data.write_text("\n".join(["party,item,users", *rows]))
        command = [
            sys.executable, "-m", "treetop", "device", "fleet", "--json", "--party", self.url(self.ports[name]),
            "--task", task, "--data", str(data), "--party-name", name, "--tickets", str(tickets),
            "--state", str(self.folder / name / f"fleet of {version}"), "--server-key", self.signing.public,
            "--epsilon-cap", "8", "--lifetime-cap", "8",
        ]  # fmt: skip
        with running(self.sources[version]):
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        told, complaints = process.communicate(timeout=200)
        assert process.returncode == 0, complaints
        totals: dict[str, Any] = json.loads(told)
        return totals


_ENVIRONMENT = threading.Lock()


@contextmanager
def running(source: Path) -> Iterator[None]:
    """Have processes that are started here import Treetop from this source."""
    with _ENVIRONMENT, pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(source))
        yield


@contextmanager
def federation(tmp_path: Path, sources: Mapping[str, Path], versions: Mapping[str, str]) -> Iterator[TwoVersions]:
    made = TwoVersions(tmp_path, sources, versions)
    with made.processes:
        made.start()
        yield made


def answered(made: TwoVersions, task: str, meanwhile: Callable[[], None] = lambda: None) -> dict[str, Any]:
    """Have devices of the older version answer, and those of the newer one after something else has happened."""
    tickets = {name: made.tickets_in_files(name, task) for name in SIZES}
    with ThreadPoolExecutor(4) as pool:
        for version in made.sources:
            told = [pool.submit(made.report, name, task, version, tickets[name][version]) for name in SIZES]
            assert [each.result()["verdicts"] for each in told] == [{"accepted": size // 2} for size in SIZES.values()]
            meanwhile()
            meanwhile = lambda: None  # noqa: E731
    return made.result(task)


def check(result: Mapping[str, Any]) -> None:
    """All users of both parties were counted once, and their favourites found."""
    assert {party["name"]: party["users"] for party in result["parties"]} == SIZES
    assert [row["item"] for row in result["items"]] == ["200", "77", "9"]


@pytest.mark.parametrize("mechanism", ["canopy", "panorama"])
@pytest.mark.parametrize("server", ["older", "newer"])
def test_both_versions_answer_one_query(
    tmp_path: Path, sources: Mapping[str, Path], server: str, mechanism: str
) -> None:
    versions = {"server": server, "north": "older", "south": "newer"}
    more = {"settings": {"bits": "8"}} if mechanism == "panorama" else {}
    with federation(tmp_path, sources, versions) as made:
        check(answered(made, made.order(mechanism=mechanism, **more)))


@pytest.mark.parametrize(("before", "after"), [("older", "newer"), ("newer", "older")])
def test_everybody_is_replaced_in_mid_query(
    tmp_path: Path, sources: Mapping[str, Path], before: str, after: str
) -> None:
    with federation(tmp_path, sources, dict.fromkeys(PARTS, before)) as made:
        task = made.order(mechanism="canopy")

        def exchange() -> None:
            for name in PARTS:
                made.replace(name, after)

        check(answered(made, task, exchange))


def test_parties_are_replaced_between_rounds(tmp_path: Path, sources: Mapping[str, Path]) -> None:
    """Devices of both versions enrol and answer level after level while first one party is replaced, then the other."""
    with federation(tmp_path, sources, {"server": "newer", "north": "older", "south": "newer"}) as made:
        task = made.order(mechanism="canopy", mode="rounds")
        tickets = {name: made.tickets_in_files(name, task) for name in SIZES}
        with ThreadPoolExecutor(4) as pool:
            told = [pool.submit(made.report, name, task, version, tickets[name][version])
                    for name in SIZES for version in sources]  # fmt: skip
            for name, version in (("north", "newer"), ("south", "older")):
                while made.counter(name, 'treetop_verdicts_total{verdict="accepted"}') < SIZES[name] / 2:
                    time.sleep(0.1)
                made.replace(name, version)
            for each in told:
                each.result()
        check(made.result(task))


def half_may_not_answer(made: TwoVersions, **order: Any) -> str:
    """Order a query in which half of the devices tell their party that they may not answer; an older one takes no such
    word."""
    ends = int(time.time()) + 90
    deadlines = {"opens": ends - 120, "enrolment": ends, "reports": ends, "level_seconds": 600}
    task = made.order(mechanism="canopy", deadlines=deadlines, **order)
    for name, size in SIZES.items():
        files = made.tickets_in_files(name, task)
        assert made.report(name, task, "older", files["older"])["verdicts"] == {"accepted": size // 2}
        refused = [(bytes.fromhex(line), Refusal.BUDGET_WINDOW) for line in files["newer"].read_text().split()]
        with closing(PartyClient(made.connection(name))) as client:
            told = client.tell_refusals(bytes.fromhex(task), refused)
        assert (told is None) == (made.versions[name] == "older")
    return task


@pytest.mark.parametrize(("server", "counted"), [("newer", ["north", "south"]), ("older", ["north"])])
def test_an_older_server_leaves_a_newer_party_out_whose_devices_may_not_answer(
    tmp_path: Path, sources: Mapping[str, Path], server: str, counted: list[str]
) -> None:
    """How many may not answer is a part of a reply that the older server does not know: it does not guess."""
    with federation(tmp_path, sources, {"server": server, "north": "older", "south": "newer"}) as made:
        task = half_may_not_answer(made, policy="proceed")
        result = made.result(task)
        assert [party["name"] for party in result["parties"]] == counted
        if server == "older":
            ((party, reason),) = [(each["name"], each["reason"]) for each in result["missing"]]
            assert party == "south"
            assert "broke the protocol" in reason
            assert "refusals" in reason


def test_a_query_that_failed_so_goes_on_under_the_newer_server(tmp_path: Path, sources: Mapping[str, Path]) -> None:
    with federation(tmp_path, sources, {"server": "older", "north": "older", "south": "newer"}) as made:
        task = half_may_not_answer(made)
        failure = made.failure(task)
        assert "'south' broke the protocol" in failure
        assert "refusals" in failure
        made.replace("server", "newer")
        assert {party["name"]: party["users"] for party in made.result(task)["parties"]} == {"north": 150, "south": 100}


def test_a_server_says_that_an_older_party_does_not_say_how_it_is(tmp_path: Path, sources: Mapping[str, Path]) -> None:
    with federation(tmp_path, sources, {"server": "newer", "north": "older", "south": "newer"}) as made:
        with made.analyst() as client:
            shown = {each["name"]: (each["reachable"], each["problem"]) for each in client.parties()}
        assert shown == {"north": (True, "it does not say how it is"), "south": (True, "")}


def test_an_older_party_refuses_a_campaign_and_the_server_says_so(tmp_path: Path, sources: Mapping[str, Path]) -> None:
    with federation(tmp_path, sources, {"server": "newer", "north": "older", "south": "newer"}) as made:
        campaign = {
            "name": "fruit", "k": 3, "epsilon": "4", "settings": {"bits": "8"}, "starts": int(time.time()) + 5,
            "every": 600, "weeks": 2, "patience": 30, "least": {"estimate": 1, "validation": 1},
        }  # fmt: skip
        with made.analyst() as client:
            begun, limit = client.start_campaign(campaign)["campaign"], time.monotonic() + 120
            while (weeks := client.campaign(begun)["answers"]) == [] or weeks[0]["state"] == "running":
                assert time.monotonic() < limit, weeks
                time.sleep(0.2)
        assert weeks[0]["state"] == "failed"
        assert "'north' broke the protocol" in weeks[0]["doing"]
        assert "no other fields" in weeks[0]["doing"]
