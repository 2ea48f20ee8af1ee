"""What so many users cost: cases computed by hand, and rates that can be found where they are said to be."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from treetop.errors import InvalidInput, UnknownName
from treetop.planning.capacity import Figure, Load, Prices, Unit, capacity, shown, whole_number
from treetop.planning.measured_rates import COUNTING, MEASURED, MeasuredRates, Rate

PAGE = Path(__file__).parents[3] / "docs" / "benchmarks.md"
RUNS_DIFFER = 1.5
"""Between two runs of the benchmarks."""


def rates(**values: float) -> MeasuredRates:
    """Round numbers instead of the measured ones."""
    names = {name: values[name] for name in MEASURED.named()}
    return MeasuredRates(**{name: Rate(value, "made up", "nowhere", name) for name, value in names.items()})


ROUND = rates(
    single=1e-3, single_stored=2e-3, batch_stored=1e-4, handshake=4e-3, postgres_batch=5e-4, postgres_single=1e-2,
    closing=1e-5, sqlite_open=45, sqlite_closed=20, postgres_open=105, postgres_closed=70, sent=1_000, received=3_000,
)  # fmt: skip


def test_a_small_federation_by_hand() -> None:
    """864,000 users of 2 parties in a day are 10 a second; 3 ms and 2 ms of a core for a report are 5 ms."""
    prices = Prices(core_hour=1, gigabyte_month=30, gigabyte_out=10)
    load = Load(864_000, 2, 1, oracle="krr", candidates=9, peak=4, busy=0.5, kept_days=2, prices=prices)
    found = capacity(load, ROUND)
    assert found.store == "one process with SQLite"
    expected = {
        "reports a second, mean": 10, "reports a second, peak": 40,
        "cores of a party": 1,  # 20 a second × 5 ms = 0.1 of a core, at most 0.5 busy
        "cores in all": 3,
        "stores while the task is open": 864_000 * 41,  # 40 around a report, and a slot of one byte
        "stores afterwards": 864_000 * 20, "report files": 864_000,
        "closing the stores": 8.64, "counting": 864_000 * 0.195e-8, "until a party has counted": 4.32 + 0.00084,
        "from devices": 864e6, "to devices": 2_592e6, "to devices at the peak": 40 * 3_000 * 8,
        "cores": 72.0, "counting cores": 8.6417 / 3600,
        "storage": 864_000 * 41 / 1e9 + 2 * 864_000 * 21 / 1e9,
        "traffic to devices": 25.92,
    }  # fmt: skip
    money = ("cores", "counting cores", "storage", "traffic to devices")
    expected["in all"] = sum(expected[name] for name in money)
    expected["a million users"] = expected["in all"] / 0.864
    assert {figure.name: figure.value for figure in found.figures} == pytest.approx(expected, rel=1e-4)
    assert found.notes == ()


def test_a_party_that_one_process_cannot_take_has_a_database_and_many_cores() -> None:
    """100 a second × 5 ms are half a core: 0.5 busy is allowed, 0.4 is not; then a report takes 13 ms."""
    load = Load(8_640_000, 1, 1, peak=1, busy=0.5)
    assert capacity(load, ROUND).store == "one process with SQLite"
    found = capacity(Load(8_640_000, 1, 1, peak=1, busy=0.4), ROUND)
    assert found.value("cores of a party") == 4  # 100 × 13 ms / 0.4, rounded up
    assert found.value("stores afterwards") == 8_640_000 * 70
    assert found.notes == (
        "a party would hold more than 5,000,000 reports, the most that was measured: this is extrapolated",
    )


@pytest.mark.parametrize(
    ("arrival", "parties", "busy"), [("handshake", 10, 0.5), ("balancer", 10, 0.2), ("batches", 1, 0.1)]
)
def test_how_reports_come_decides_what_they_take(arrival: str, parties: int, busy: float) -> None:
    """1,000 a second in all: 100 a second and party × 5 ms or 2 ms, 1,000 a second × 0.1 ms."""
    load = Load(86_400_000, parties, 1, peak=1, busy=busy, arrival=arrival)
    assert capacity(load, ROUND).store == "one process with SQLite"
    busier = Load(86_400_000, parties, 1, peak=1, busy=0.99 * busy, arrival=arrival)
    assert capacity(busier, ROUND).store.endswith("PostgreSQL")


def test_what_is_not_measured_is_said() -> None:
    assert capacity(Load(100, 1, arrival="balancer")).notes == ("what the balancer itself takes was not measured",)
    batches = capacity(Load(100, 1, arrival="batches"))
    assert batches.notes == ("what the back end itself takes was not measured",)
    assert not [figure for figure in batches.figures if figure.group == "Bandwidth"]


def test_counting_depends_on_the_oracle() -> None:
    def seconds(**changes: Any) -> float:
        return capacity(Load(6_500_000, 1, **changes)).value("counting")

    assert seconds(epsilon=2) == pytest.approx(0.503)  # the two lines of benchmarks.md that the rates are from
    assert seconds(epsilon=4) == pytest.approx(2.294)
    assert seconds(oracle="olh", candidates=2000) - seconds(oracle="olh", candidates=1000) == pytest.approx(6.5 / 5.7)
    assert seconds(oracle="oue", candidates=511) == pytest.approx(2 * seconds(oracle="oue", candidates=255))
    assert seconds(oracle="krr", candidates=5) == seconds(oracle="krr", candidates=50)
    names = [figure.name for figure in capacity(Load(oracle="oue")).figures]
    assert "counting on one graphics card" not in names


@pytest.mark.parametrize(("changes", "told"), [
    ({"users": 0}, "users must be from 1 to 1,000,000,000,000, found 0"),
    ({"users": 5, "parties": 6}, "found 5 users of 6 parties"),
    ({"days": float("nan")}, "days must be from"),
    ({"busy": 1.5}, "busy must be from 0.01 to 1, found 1.5"),
    ({"epsilon": 0}, "epsilon must be a finite number above 0"),
    ({"prices": Prices(core_hour=-1)}, "the price core_hour must be from 0"),
])  # fmt: skip
def test_what_no_federation_has_is_refused(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(told)):
        Load(**changes)


def test_names_that_are_not_known_are_refused() -> None:
    with pytest.raises(UnknownName, match="unknown way for reports to arrive 'pigeon', expected one of handshake"):
        Load(arrival="pigeon")
    with pytest.raises(UnknownName, match="unknown oracle whose counting was measured 'rappor'"):
        Load(oracle="rappor")


@pytest.mark.parametrize(("value", "unit", "written"), [
    (1653.4, "reports/s", "1,653 /s"), (0.0123, "reports/s", "0.0123 /s"), (4.38e10, "bytes", "43.8 GB"),
    (12.0, "bytes", "12 bytes"), (9300.0, "core seconds", "2.58 core h"), (200_000.0, "seconds", "2.31 days"),
    (0.0005, "seconds", "0.5 ms"), (2.65e8, "bit/s", "265 Mbit/s"), (1212.394, "money", "1,212.39"),
    (101.0, "cores", "101"),
])  # fmt: skip
def test_figures_are_written_with_three_digits(value: float, unit: Unit, written: str) -> None:
    assert shown(Figure("", "", value, unit, "")) == written


@pytest.mark.parametrize(("text", "number"), [("1e9", 10**9), ("1,000", 1000), ("1_000.0", 1000), ("12", 12)])
def test_whole_numbers_as_people_write_them(text: str, number: int) -> None:
    assert whole_number(text) == number


def test_it_can_be_written_as_json() -> None:
    content = json.loads(json.dumps(capacity(Load()).to_json()))
    assert content["schema"] == 1
    assert {"group", "name", "value", "unit", "formula"} == set(content["figures"][0])
    assert all(rate["section"] and rate["line"] for rate in content["rates"])
    assert all(each.source for each in COUNTING.values())


def figure_in(line: str, unit: str) -> float:
    """Return what a line of the benchmarks says of one report: CPU time or bytes."""
    if found := re.search(r"/ one \(([\d,]+) µs\)", line):
        return float(found[1].replace(",", "")) / 1e6
    if unit == "bytes":
        return float(re.search(r": ([\d,.]+) bytes a report", line)[1].replace(",", ""))  # type: ignore[index]
    if found := re.search(r"([\d.]+) µs of CPU", line):
        return float(found[1]) / 1e6
    reports = 100_000 if "batches of 100" in line else 1_000 if "handshake" in line else 15_000
    milliseconds = re.search(r"\| ([\d,.]+) ms / [\d,.]+ ms \|$", line)
    assert milliseconds is not None, line
    return float(milliseconds[1].replace(",", "")) / 1000 / reports


@pytest.mark.parametrize("name", MEASURED.named())
def test_every_rate_is_in_the_benchmarks(name: str) -> None:
    """To within what runs differ by: the page is measured anew from time to time."""
    rate: Rate = MEASURED.named()[name]
    section = PAGE.read_text("utf-8").split(f"## {rate.section}\n")[1].split("\n## ")[0]
    (line,) = (each for each in section.splitlines() if each.startswith(f"| {rate.line}"))
    assert 1 / RUNS_DIFFER < figure_in(line, rate.unit) / rate.value < RUNS_DIFFER, line
