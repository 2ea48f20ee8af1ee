"""Report files on object storage: whole or not there, named by their content, counted from there."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from distributed import LocalCluster
from tests.support.databases import Place, place_called
from tests.support.object_storage import ObjectStorage, object_storage
from tests.unit.adapters.report_files.test_collected import COUNTINGS, GROUPS, TASK, plain_support, submitted

from treetop.adapters.dask.report_counting import connected
from treetop.adapters.report_files import locations
from treetop.adapters.report_files.collected import CollectedReports
from treetop.adapters.report_files.counting import Candidates, EmbeddedEngine
from treetop.adapters.report_files.locations import ReportFolder, StoredObject, located
from treetop.adapters.report_files.reader import ReportFile
from treetop.errors import InvalidInput, ReportFileRefused, StoreUnavailable
from treetop.toml_files import Source

FOLDER = StoredObject("reports-of-north", "tasks")
COUNTING = COUNTINGS["krr"]


@pytest.fixture
def storage(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStorage]:
    with object_storage() as server:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "canary-key", "AWS_SECRET_ACCESS_KEY": "canary-secret",
            "AWS_ENDPOINT_URL": server.address, "AWS_EC2_METADATA_DISABLED": "true", "AWS_REGION": "eu-central-1",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)
        locations.storage.cache_clear()
        yield server
        locations.storage.cache_clear()


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    found = place_called("sqlite", tmp_path, request)
    found.store.add_task(TASK, b"")
    yield found
    found.close()


def objects(storage: ObjectStorage) -> list[StoredObject]:
    return [StoredObject(*name.split("/", 1)) for name in sorted(storage.objects)]


def test_groups_are_stored_by_their_content_and_counted_from_there(storage: ObjectStorage, place: Place) -> None:
    values = submitted(place, COUNTING)
    tally = CollectedReports(place.store, FOLDER).tally(TASK, GROUPS, COUNTING)
    np.testing.assert_array_equal(tally.support, plain_support(values, COUNTING))
    for found in objects(storage):
        assert found.name == f"{found.name.partition('_sha256_')[0]}_sha256_{found.digest()}.parquet"
    with pytest.raises(InvalidInput, match="were scrubbed"):
        place.store.bodies(TASK, GROUPS[0])
    place.reopen()
    stored = dict(storage.objects)
    again = CollectedReports(place.store, FOLDER).tally(TASK, GROUPS, COUNTING)
    np.testing.assert_array_equal(again.support, tally.support)
    assert storage.objects == stored
    assert not any("canary-secret" in path for _, path in storage.asked)


def test_an_upload_that_is_not_finished_leaves_nothing_and_the_reports_stay(
    storage: ObjectStorage, place: Place, tmp_path: Path
) -> None:
    values = submitted(place, COUNTING)
    storage.break_uploads = True
    with pytest.raises(StoreUnavailable, match="cannot be put into s3://reports-of-north/tasks"):
        CollectedReports(place.store, FOLDER).tally(TASK, GROUPS, COUNTING)
    assert storage.objects == {}
    assert sum(map(len, place.store.bodies(TASK, GROUPS[0]))) == 600
    storage.break_uploads = False
    tally = CollectedReports(place.store, FOLDER).tally(TASK, GROUPS, COUNTING)
    np.testing.assert_array_equal(tally.support, plain_support(values, COUNTING))


def test_an_object_that_is_not_what_its_name_says_is_refused(storage: ObjectStorage, place: Place) -> None:
    """Cut off, or changed: the reports are not forgotten for it, and it is not counted."""
    submitted(place, COUNTING)
    collected = CollectedReports(place.store, FOLDER)
    collected.tally(TASK, GROUPS, COUNTING)
    first = objects(storage)[0]
    whole = storage.objects[first.path]
    for content in (whole[:-100], whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]):
        storage.objects[first.path] = content
        with pytest.raises(ReportFileRefused, match="its content is not what its name says"):
            CollectedReports(place.store, FOLDER).tally(TASK, GROUPS, COUNTING)
    with pytest.raises(ReportFileRefused):
        EmbeddedEngine().count([first], Candidates(ReportFile.opened(objects(storage)[1]).kind))


@pytest.mark.slow
def test_dask_workers_count_from_there(storage: ObjectStorage, place: Place) -> None:
    submitted(place, COUNTING)
    CollectedReports(place.store, FOLDER).tally(TASK, GROUPS, COUNTING)
    first = objects(storage)[0]
    asked = Candidates(ReportFile.opened(first).kind)
    here = EmbeddedEngine().count([first], asked)
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster,
        connected(cluster.scheduler_address) as engine,
    ):
        there = engine.count([first], asked)
    np.testing.assert_array_equal(there.support, here.support)


def test_the_command_counts_them(storage: ObjectStorage, place: Place) -> None:
    submitted(place, COUNTING)
    CollectedReports(place.store, FOLDER).tally(TASK, GROUPS, COUNTING)
    command = [sys.executable, "-m", "treetop", "count", "--json", str(objects(storage)[0])]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert '"reports": 600' in told.stdout, told.stderr


@pytest.mark.parametrize(
    "address", ["s3://key:canary-secret@bucket/x", "s3://B/x", "s3://bucket/../x y", "https://host/x", "s3://"]
)
def test_other_addresses_are_refused_and_not_shown(address: str) -> None:
    with pytest.raises(InvalidInput, match="expected a folder or s3://bucket/folder") as refusal:
        located(address)
    assert "canary" not in str(refusal.value)
    with pytest.raises(InvalidInput):
        ReportFolder.from_file(address, Source(Path("/etc/treetop"), {}))


def test_settings_name_a_folder_or_a_bucket() -> None:
    source = Source(Path("/etc/treetop"), {})
    assert str(ReportFolder.from_file("reports", source)) == "/etc/treetop/reports"
    assert str(ReportFolder.from_file("s3://reports-of-north/a/b/", source)) == "s3://reports-of-north/a/b"
    assert (ReportFolder.from_file("s3://reports-of-north", source).where / "x").path == "reports-of-north/x"  # type: ignore[union-attr]
    with pytest.raises(InvalidInput):
        ReportFolder.from_file(3, source)
