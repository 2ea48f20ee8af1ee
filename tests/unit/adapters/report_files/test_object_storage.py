"""Report files on object storage: whole or not there, named by their content, counted from there."""

import os
import subprocess
import sys
from collections.abc import Iterator
from hashlib import sha256
from io import FileIO
from pathlib import Path

import numpy as np
import pytest
from distributed import LocalCluster
from tests.support.databases import Place, place_called
from tests.support.object_storage import ObjectStorage, object_storage
from tests.support.refusals import refused
from tests.unit.adapters.report_files.test_collected import COUNTINGS, GROUPS, TASK, plain_support, submitted

from treetop.adapters.dask.cluster import connected
from treetop.adapters.report_files import locations
from treetop.adapters.report_files.collected import CollectedReports
from treetop.adapters.report_files.counting import Candidates, EmbeddedEngine
from treetop.adapters.report_files.locations import ReportFolder, StoredObject, located
from treetop.adapters.report_files.sealed_file import ReportFile
from treetop.errors import InvalidInput, ReportFileRefused, StoreUnavailable
from treetop.oracles.frequency_oracle import Tally
from treetop.toml_files import Source

FOLDER = StoredObject("reports-of-north", "tasks")
COUNTING = COUNTINGS["krr"]
HALF_AN_UPLOAD = """
import os, sys
from treetop.adapters.report_files.locations import storage
target = storage().open_output_stream(sys.argv[1])
target.write(bytes(12_000_000))
os._exit(9)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStorage]:
    with object_storage(tmp_path_factory.mktemp("storage")) as running:
        yield running


@pytest.fixture
def storage(server: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectStorage]:
    server.allow("*")
    server.files.create_dir(FOLDER.bucket)
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    locations.storage.cache_clear()
    yield server
    server.allow("*")
    server.files.delete_dir_contents(FOLDER.bucket)
    locations.storage.cache_clear()


@pytest.fixture
def place(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Place]:
    found = place_called("sqlite", tmp_path, request)
    found.store.add_task(TASK, b"")
    yield found
    found.close()


def tallied(place: Place) -> Tally:
    return CollectedReports(place.store, FOLDER).tally(TASK, GROUPS, COUNTING)


def stored(storage: ObjectStorage) -> dict[StoredObject, bytes]:
    return storage.contents(FOLDER.bucket)


def first_of(storage: ObjectStorage) -> StoredObject:
    return next(iter(stored(storage)))


def test_groups_are_stored_by_their_content_and_counted_from_there(storage: ObjectStorage, place: Place) -> None:
    values = submitted(place, COUNTING)
    storage.allow("ListBucket", "GetObject", "PutObject")
    tally = tallied(place)
    np.testing.assert_array_equal(tally.support, plain_support(values, COUNTING))
    kept = stored(storage)
    assert len(kept) == len(GROUPS)
    for found, content in kept.items():
        assert found.name == f"{found.name.partition('_sha256_')[0]}_sha256_{sha256(content).hexdigest()}.parquet"
    with refused("bodies_scrubbed", InvalidInput, group="the group of level 3 (estimate)"):
        place.store.bodies(TASK, GROUPS[0])
    place.reopen()
    np.testing.assert_array_equal(tallied(place).support, tally.support)
    assert stored(storage) == kept


@pytest.mark.parametrize("allowed", [("ListBucket", "GetObject"), ("ListBucket", "PutObject")])
def test_what_was_not_stored_and_read_back_stays_with_the_party(
    storage: ObjectStorage, place: Place, allowed: tuple[str, ...]
) -> None:
    """May not write; may write, and cannot see what became of it."""
    values = submitted(place, COUNTING)
    storage.allow(*allowed)
    with refused("reports_not_stored", StoreUnavailable, name="OSError"):
        tallied(place)
    assert sum(map(len, place.store.bodies(TASK, GROUPS[0]))) == 600
    storage.allow("*")
    np.testing.assert_array_equal(tallied(place).support, plain_support(values, COUNTING))


def test_an_upload_whose_process_is_killed_leaves_nothing_to_read(storage: ObjectStorage, place: Place) -> None:
    values = submitted(place, COUNTING)
    half = FOLDER / f"{TASK.hex()}_level_3_role_0_sha256_{'0' * 64}.parquet"
    done = subprocess.run([sys.executable, "-c", HALF_AN_UPLOAD, half.path], check=False, timeout=120)
    assert done.returncode == 9
    assert any(request.startswith("PUT") and "partNumber=1" in request for request in storage.asked)
    assert stored(storage) == {}
    np.testing.assert_array_equal(tallied(place).support, plain_support(values, COUNTING))
    assert half not in stored(storage)


class FailingFile(FileIO):
    """A file whose fourth piece cannot be read."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell() >= 3 * locations.PIECE:
            raise OSError("the disk is gone")
        return super().read(size)


def test_a_file_that_cannot_be_read_to_its_end_makes_no_object(
    storage: ObjectStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "report.parquet"
    file.write_bytes(bytes(4 * locations.PIECE))
    with monkeypatch.context() as patched:
        patched.setattr(Path, "open", lambda path, _mode: FailingFile(path))
        with pytest.raises(OSError, match="the disk is gone"):
            (FOLDER / "report.parquet").put(file)
    assert any("report.parquet?partNumber=1" in request for request in storage.asked)
    assert stored(storage) == {}


def test_an_object_that_is_not_what_its_name_says_is_refused(storage: ObjectStorage, place: Place) -> None:
    """Cut off, or changed: the reports are not forgotten for it, and it is not counted."""
    submitted(place, COUNTING)
    tallied(place)
    (first, whole), (other, _) = stored(storage).items()
    for content in (whole[:-100], whole[:200] + bytes([whole[200] ^ 1]) + whole[201:]):
        storage.put(first, content)
        with pytest.raises(ReportFileRefused, match="its content is not what its name says"):
            tallied(place)
    with pytest.raises(ReportFileRefused):
        EmbeddedEngine().count([first], Candidates(ReportFile.opened(other).kind))


def test_dask_workers_count_from_there(storage: ObjectStorage, place: Place) -> None:
    submitted(place, COUNTING)
    tallied(place)
    first = first_of(storage)
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
    tallied(place)
    command = [sys.executable, "-m", "treetop", "count", "--json", str(first_of(storage))]
    told = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert '"reports": 600' in told.stdout, told.stderr
    assert not any(storage.secret in request for request in storage.asked)


@pytest.mark.parametrize("name", ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"])
def test_credentials_are_those_of_the_environment(
    storage: ObjectStorage, place: Place, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The storage checks signatures: with another key in the environment, nothing is taken and no secret is shown."""
    submitted(place, COUNTING)
    monkeypatch.setenv(name, "canary-of-another")
    locations.storage.cache_clear()
    with refused("reports_not_stored", StoreUnavailable, name="OSError") as refusal:
        tallied(place)
    assert "canary" not in str(refusal.value)
    assert stored(storage) == {}


LISTED_BY_A_PROCESS = """
import sys
from treetop.adapters.report_files.locations import located
try:
    print(len(list(located(sys.argv[1]).below(""))))
except OSError:
    print("refused")
"""


def test_credentials_in_a_home_are_not_taken(storage: ObjectStorage, tmp_path: Path) -> None:
    (tmp_path / ".aws").mkdir()
    key, secret = (storage.environment[name] for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"))
    (tmp_path / ".aws" / "credentials").write_text(
        f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {secret}\n"
    )
    kept = {name: value for name, value in os.environ.items() if name not in storage.environment}
    without = {"HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "true"}
    without |= {name: value for name, value in storage.environment.items() if not name.startswith(("AWS_A", "AWS_S"))}
    command = [sys.executable, "-c", LISTED_BY_A_PROCESS, str(FOLDER)]
    for environment, told in (({**kept, **storage.environment}, "0"), ({**kept, **without}, "refused")):
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=180, env=environment)
        assert done.stdout.strip() == told, done.stderr


@pytest.mark.parametrize(
    "address", ["s3://key:canary-secret@bucket/x", "s3://B/x", "s3://bucket/../x y", "https://host/x", "s3://"]
)
def test_other_addresses_are_refused_and_not_shown(address: str) -> None:
    with refused("report_location_malformed", InvalidInput) as refusal:
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
