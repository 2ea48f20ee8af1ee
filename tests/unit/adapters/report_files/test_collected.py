"""From closed groups to files and tallies: exported once, scrubbed after, the same at every interruption."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.support.databases import Place, place_called
from tests.support.refusals import refused
from tests.support.report_batches import support_by_numpy

from treetop.adapters.report_files.collected import CollectedReports
from treetop.adapters.report_files.sealed_file import ReportFileWriter
from treetop.errors import InvalidInput, ReportFileRefused, StoreDamaged, StoreUnavailable
from treetop.federation.service_ports import AdmittedReport, Counting
from treetop.oracles.frequency_oracle import Columns
from treetop.oracles.hashed_reports import HashedReport
from treetop.oracles.registry import find_oracle
from treetop.privacy.epsilon import Epsilon
from treetop.trie.user_groups import Group, Role

TASK = bytes(range(32))
KEYS = np.arange(20, dtype=np.uint64)
GROUPS = (Group(3), Group(3, Role.VALIDATE_FREQUENT))
NO_KEYS = np.empty(0, dtype=np.uint64)
COUNTINGS: dict[str, Counting] = {
    "krr": Counting(find_oracle("krr"), 300, b"d" * 32, NO_KEYS),
    "oue": Counting(find_oracle("oue"), 41, b"d" * 32, NO_KEYS),
    "olh": Counting(find_oracle("olh"), 56, bytes(32), KEYS),
}


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    found = place_called(request.param, tmp_path, request)
    found.store.add_task(TASK, b"")
    yield found
    found.close()


def random_report(oracle: str, slots: int, randomness: np.random.Generator) -> Any:
    if oracle == "krr":
        return int(randomness.integers(slots))
    if oracle == "oue":
        return tuple(bool(bit) for bit in randomness.random(slots) < 0.3)
    return HashedReport(int(randomness.integers(1 << 32)), int(randomness.integers(slots)))


def submitted(place: Place, counting: Counting, reports: int = 900) -> list[Any]:
    """Submit reports of both groups and close them; return what the devices reported."""
    randomness, body = np.random.default_rng(5), counting.oracle.form(counting.slots)
    values = [random_report(counting.oracle.name, counting.slots, randomness) for _ in range(reports)]
    place.store.submit(
        [
            AdmittedReport(TASK, serial, GROUPS[serial % 3 == 0], body.encode(value))
            for serial, value in enumerate(values)
        ]
    )
    for group in GROUPS:
        place.store.close_group(TASK, group)
    return values


def plain_support(values: list[Any], counting: Counting) -> Any:
    """The naive twin."""
    if counting.oracle.name == "krr":
        return np.bincount(values, minlength=counting.slots)
    if counting.oracle.name == "oue":
        return np.array(values).sum(axis=0)
    seeds, found = np.array([(value.seed, value.bucket) for value in values], dtype=np.uint32).T
    return support_by_numpy(seeds, found, KEYS, counting.slots)


@pytest.mark.parametrize("oracle", COUNTINGS)
def test_groups_are_counted_together_and_exported_once(place: Place, oracle: str, tmp_path: Path) -> None:
    counting, folder = COUNTINGS[oracle], tmp_path / "files"
    values = submitted(place, counting)
    tally = CollectedReports(place.store, folder).tally(TASK, GROUPS, counting)
    assert tally.reports == 900
    np.testing.assert_array_equal(tally.support, plain_support(values, counting))
    assert sorted(file.name for file in folder.iterdir()) == [
        f"{TASK.hex()}_level_3_role_0.parquet",
        f"{TASK.hex()}_level_3_role_2.parquet",
    ]
    with refused("bodies_scrubbed", InvalidInput, group="the group of level 3 (estimate)"):
        place.store.bodies(TASK, GROUPS[0])
    times = [file.stat().st_mtime_ns for file in sorted(folder.iterdir())]
    place.reopen()
    again = CollectedReports(place.store, folder)
    for _ in range(2):
        np.testing.assert_array_equal(again.tally(TASK, GROUPS, counting).support, tally.support)
    assert [file.stat().st_mtime_ns for file in sorted(folder.iterdir())] == times


def test_one_group_alone_and_none(place: Place, tmp_path: Path) -> None:
    values = submitted(place, COUNTINGS["krr"])
    collected = CollectedReports(place.store, tmp_path / "files")
    one = collected.tally(TASK, GROUPS[:1], COUNTINGS["krr"])
    mine = [value for serial, value in enumerate(values) if serial % 3]
    np.testing.assert_array_equal(one.support, np.bincount(mine, minlength=300))
    place.store.close_group(TASK, Group(9))
    for groups in ([], [Group(9)]):
        nothing = collected.tally(TASK, groups, COUNTINGS["krr"])
        assert (nothing.reports, int(nothing.support.sum()), len(nothing.support)) == (0, 0, 300)
    assert len(collected.tally(TASK, [], COUNTINGS["olh"]).support) == len(KEYS)


def test_an_open_group_is_not_counted(place: Place, tmp_path: Path) -> None:
    place.store.submit([AdmittedReport(TASK, 1, Group(1), b"\0\0")])
    with refused("group_not_closed", InvalidInput, group="the group of level 1 (estimate)"):
        CollectedReports(place.store, tmp_path).tally(TASK, [Group(1)], COUNTINGS["krr"])


class Crash(Exception):
    pass


@pytest.mark.parametrize("point", ["first stretch", "before the file is whole", "before the scrub", "after the scrub"])
def test_an_interruption_anywhere_changes_nothing(
    place: Place, point: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    counting, folder = COUNTINGS["oue"], tmp_path / "files"
    values = submitted(place, counting)
    with monkeypatch.context() as broken:
        break_at(point, place, broken)
        with pytest.raises(Crash):
            CollectedReports(place.store, folder).tally(TASK, GROUPS, counting)
    (folder / f".{TASK.hex()}_level_3_role_0.parquet.99999.partial").write_bytes(b"half a file")
    place.reopen()
    tally = CollectedReports(place.store, folder).tally(TASK, GROUPS, counting)
    np.testing.assert_array_equal(tally.support, plain_support(values, counting))
    assert len(list(folder.glob("*.parquet"))) == 2
    if not point.endswith("scrub"):  # otherwise the file was whole and nothing is written again
        assert not list(folder.glob(".*.partial"))


def break_at(point: str, place: Place, broken: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> Columns:
        raise Crash

    def scrub_and_crash(task: bytes, group: Group) -> None:
        real_scrub(task, group)
        raise Crash

    real_scrub = place.store.scrub
    if point == "first stretch":
        broken.setattr("treetop.adapters.report_files.collected.batch_columns", crash)
    elif point == "before the file is whole":
        broken.setattr(ReportFileWriter, "_finish", crash)
    else:
        broken.setattr(place.store, "scrub", crash if point == "before the scrub" else scrub_and_crash)


def test_files_that_are_not_the_groups_are_refused(place: Place, tmp_path: Path) -> None:
    counting, folder = COUNTINGS["krr"], tmp_path / "files"
    submitted(place, counting)
    CollectedReports(place.store, folder).tally(TASK, GROUPS, counting)
    one, two = sorted(folder.iterdir())
    whole = one.read_bytes()
    one.write_bytes(whole[:-200])
    with pytest.raises(ReportFileRefused):
        CollectedReports(place.store, folder).tally(TASK, GROUPS, counting)
    kind_of_one = CollectedReports(place.store, tmp_path / "elsewhere")
    with refused("bodies_scrubbed", InvalidInput, group="the group of level 3 (estimate)"):
        kind_of_one.tally(TASK, GROUPS, counting)
    one.write_bytes(two.read_bytes())
    with pytest.raises(ReportFileRefused, match="kind"):
        CollectedReports(place.store, folder).tally(TASK, GROUPS, counting)


def test_a_file_with_other_than_all_reports_is_damage(place: Place, tmp_path: Path, monkeypatch: Any) -> None:
    counting, folder = COUNTINGS["krr"], tmp_path / "files"
    submitted(place, counting)
    whole = place.store.bodies

    def all_but_one(task: bytes, group: Group) -> Iterator[list[bytes]]:
        return (stretch[1:] for stretch in whole(task, group))

    with monkeypatch.context() as broken:
        broken.setattr(place.store, "bodies", all_but_one)
        with pytest.raises(StoreDamaged, match="600 reports of the group of level 3"):
            CollectedReports(place.store, folder).tally(TASK, GROUPS, counting)
    assert len(list(place.store.bodies(TASK, GROUPS[0]))) == 1


def test_a_folder_that_cannot_be_written_is_unavailable(place: Place, tmp_path: Path) -> None:
    submitted(place, COUNTINGS["krr"])
    (tmp_path / "files").write_bytes(b"a file where a folder should be")
    with refused("reports_not_exported", StoreUnavailable):
        CollectedReports(place.store, tmp_path / "files").tally(TASK, GROUPS, COUNTINGS["krr"])


def test_crafted_reports_are_counted(place: Place, tmp_path: Path) -> None:
    bits, hashed, slots = COUNTINGS["oue"], COUNTINGS["olh"], COUNTINGS["krr"]
    honest, crafted = tuple(place % 7 == 0 for place in range(41)), (True,) * 41
    encode = find_oracle("oue").form(41).encode
    place.store.submit([AdmittedReport(TASK, n, Group(1), encode(honest if n % 4 else crafted)) for n in range(20)])
    place.store.submit([AdmittedReport(TASK, 100 + n, Group(2), bytes(5)) for n in range(9)])
    place.store.submit([AdmittedReport(TASK, 200 + n, Group(4), bytes(2)) for n in range(9)])
    for level in (1, 2, 4):
        place.store.close_group(TASK, Group(level))
    collected = CollectedReports(place.store, tmp_path / "files")
    assert collected.implausible(TASK, Group(1), bits, Epsilon(2)) == 5
    assert collected.implausible(TASK, Group(2), hashed, Epsilon(4)) == 0
    assert collected.implausible(TASK, Group(4), slots, Epsilon(4)) == 0
    assert collected.implausible(TASK, Group(9), slots, Epsilon(4)) == 0
