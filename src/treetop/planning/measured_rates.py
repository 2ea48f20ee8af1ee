"""What one report costs, as it was measured: every rate says which line of docs/benchmarks.md it comes from.

Core seconds are processor time of the serving processes, so they do not depend on what else the machine did. They are
of one kind of machine (x86-64, two cores): measure on yours where it matters (`make bench`).
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields

INTAKE, TLS, WEIGHT = "A party's intake", "Reports over TLS", "What a report weighs"
SEVERAL, IN_MEMORY, FILES = "A party of several processes", "Counting in memory, one core", "Counting report files"
ON_A_CARD = "Count reports from files"
"""The page how_to/count_reports.md, where the figures of a graphics card are."""


@dataclass(frozen=True)
class Rate:
    """One measured number."""

    value: float
    unit: str
    section: str
    """Of docs/benchmarks.md."""
    line: str
    """How the line in that section begins."""


def _cpu(milliseconds: float, reports: int, section: str, line: str) -> Rate:
    return Rate(milliseconds / 1000 / reports, "core seconds", section, line)


def _bytes(number: float, line: str) -> Rate:
    return Rate(number, "bytes", WEIGHT, line)


@dataclass(frozen=True)
class CountingRates:
    """What counting one kind of reports takes: the parts add up. A card's time is None where it does not count them."""

    report: float = 0.0
    """Core seconds of a report."""
    sign: float = 0.0
    """Of each of the g - 1 signs that a report adds."""
    pair: float = 0.0
    """Of a report and a candidate."""
    byte: float = 0.0
    """Of a byte of a report."""
    party: float = 0.0
    """Of a party, however many reports it has."""
    card_report: float | None = None
    """Seconds of a graphics card."""
    card_pair: float = 0.0
    source: str = ""


_WALSH_REPORTS, _SIGNS_AT_2, _SIGNS_AT_4, _WALSH_AT_2, _WALSH_AT_4 = 6_500_000, 7, 63, 0.503, 2.294
_SIGN = (_WALSH_AT_4 - _WALSH_AT_2) / _WALSH_REPORTS / (_SIGNS_AT_4 - _SIGNS_AT_2)
COUNTING: Mapping[str, CountingRates] = {
    "walsh": CountingRates(
        sign=_SIGN, party=_WALSH_AT_2 - _SIGN * _WALSH_REPORTS * _SIGNS_AT_2, card_report=0.047 / _WALSH_REPORTS,
        source=f"{IN_MEMORY}: 6,500,000 walsh reports over 2^24 names at ε = 2 and ε = 4, two points of a line; on a "
        f"card, {ON_A_CARD}: 47 ms at ε = 4",
    ),
    "olh": CountingRates(
        report=(0.198 - 64 * 1e7 / 5.70e9) / 1e7, pair=1 / 5.70e9, card_report=0.0, card_pair=1 / 1.987e12,
        source=f"{IN_MEMORY}: 5.70 G pairs/s; {FILES}: reading; on a card, {ON_A_CARD}: 1,987 G pairs/s",
    ),
    "krr": CountingRates(report=0.195 / 1e8, source=f"{FILES}: 1e8 k-RR reports"),
    "oue": CountingRates(byte=0.180 / (1e7 * 32), source=f"{FILES}: 1e7 OUE reports of 256 slots"),
}  # fmt: skip
"""By the name of the oracle whose reports were counted."""


@dataclass(frozen=True)
class MeasuredRates:
    """All rates that a plan needs."""

    single: Rate
    """A report in a request of its own, none stored."""
    single_stored: Rate
    """The same with five million stored."""
    batch_stored: Rate
    handshake: Rate
    """A report over a TLS connection of its own, none stored."""
    postgres_batch: Rate
    """The cores of intakes, coordinator and database together."""
    postgres_single: Rate
    closing: Rate
    """Moving a report from the store into its file."""
    sqlite_open: Rate
    sqlite_closed: Rate
    postgres_open: Rate
    postgres_closed: Rate
    sent: Rate
    """By a device that asks for the task and reports."""
    received: Rate

    def named(self) -> dict[str, Rate]:
        """Return all of them by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}


MEASURED = MeasuredRates(
    single=_cpu(2_701, 15_000, INTAKE, "one by one, none stored"),
    single_stored=_cpu(3_497, 15_000, INTAKE, "one by one, 5 M stored"),
    batch_stored=_cpu(3_886, 100_000, INTAKE, "batches of 100, 5 M stored"),
    handshake=_cpu(819, 1_000, TLS, "a fresh handshake for every report"),
    postgres_batch=Rate(27e-6, "core seconds", SEVERAL, "batches of 100, core time with the database"),
    postgres_single=Rate(190e-6, "core seconds", SEVERAL, "one by one, core time with the database"),
    closing=Rate(8.95e-6, "core seconds", WEIGHT, "closing a group with SQLite"),
    sqlite_open=_bytes(44.7, "SQLite, open"),
    sqlite_closed=_bytes(23.1, "SQLite, closed"),
    postgres_open=_bytes(149.7, "PostgreSQL, open"),
    postgres_closed=_bytes(75.0, "PostgreSQL, closed"),
    sent=_bytes(1_126, "from a device over TLS"),
    received=_bytes(2_375, "to a device over TLS"),
)
WEIGHED_BODY = 5
"""Bytes of the reports whose weight in a store was measured."""
