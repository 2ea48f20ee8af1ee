"""What so many users cost: reports a second, cores, storage, counting time, bandwidth and money.

Everything is computed from measured rates and from what the caller says; every figure carries its formula in words.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from math import ceil, isfinite
from typing import Any, Literal

from treetop.errors import InvalidInput, UnknownName
from treetop.oracles.registry import find_oracle
from treetop.planning.measured_rates import COUNTING, MEASURED, WEIGHED_BODY, CountingRates, MeasuredRates
from treetop.privacy.epsilon import Epsilon

SCHEMA = 1
DAY, MONTH_DAYS, HOUR = 86_400, 30, 3_600
ARRIVALS: Mapping[str, str] = {
    "handshake": "every device opens a TLS connection of its own",
    "balancer": "a balancer ends TLS and keeps its connections",
    "batches": "a back end gathers reports by the hundred",
}
"""How reports come."""
Unit = Literal["reports/s", "cores", "bytes", "core seconds", "seconds", "bit/s", "money"]
STORED = 5_000_000
"""Reports of a party in the largest store that was measured."""
MAX_USERS, MAX_PARTIES, MAX_CANDIDATES = 10**12, 10**6, 1 << 28


@dataclass(frozen=True)
class Prices:
    """What things cost, in any currency; the defaults are assumptions of ours and nobody's offer."""

    core_hour: float = 0.05
    gigabyte_month: float = 0.10
    """Of a durable disk."""
    gigabyte_out: float = 0.09
    """Sent to devices."""


@dataclass(frozen=True)
class Load:
    """What is planned for."""

    users: int = 10**9
    parties: int = 100
    """Of equal size."""
    days: float = 7.0
    """While devices may report."""
    epsilon: float = 2.0
    oracle: str = "walsh"
    candidates: int = 1_000
    """How many keys are counted by an oracle that hashes, how long the list of another is; walsh counts all names."""
    arrival: str = "handshake"
    peak: float = 5.0
    """The busiest hour against the mean; an assumption: people are awake at the same hours."""
    busy: float = 0.7
    """How busy a core may be at the peak; an assumption."""
    kept_days: float = 30.0
    """How long reports are kept after the task has closed."""
    prices: Prices = field(default_factory=Prices)

    def __post_init__(self) -> None:
        """Refuse what no federation has."""
        for name, least, most in (
            ("users", 1, MAX_USERS), ("parties", 1, MAX_PARTIES), ("candidates", 1, MAX_CANDIDATES),
            ("days", 0.05, 3_650), ("peak", 1, 10_000), ("busy", 0.01, 1), ("kept_days", 0, 36_500),
        ):  # fmt: skip
            value = getattr(self, name)
            if not (isfinite(value) and least <= value <= most):
                raise InvalidInput(f"{name} must be from {least:,} to {most:,}, found {value:g}")
        if self.users < self.parties:
            raise InvalidInput(f"every party has one user at least: found {self.users} users of {self.parties} parties")
        for each in fields(Prices):
            price = getattr(self.prices, each.name)
            if not (isfinite(price) and 0 <= price <= 1e6):
                raise InvalidInput(f"the price {each.name} must be from 0 to 1,000,000, found {price:g}")
        if self.arrival not in ARRIVALS:
            raise UnknownName("way for reports to arrive", self.arrival, tuple(ARRIVALS))
        if self.oracle not in COUNTING:
            raise UnknownName("oracle whose counting was measured", self.oracle, tuple(COUNTING))
        Epsilon(self.epsilon)


@dataclass(frozen=True)
class Figure:
    """One number of a plan."""

    group: str
    name: str
    value: float
    unit: Unit
    formula: str
    """How it is computed, in words."""


@dataclass(frozen=True)
class Capacity:
    """What a load takes."""

    load: Load
    store: str
    """Which store every party needs: one process over SQLite, or several over PostgreSQL."""
    figures: tuple[Figure, ...]
    rates: MeasuredRates
    notes: tuple[str, ...] = ()
    """What was not measured."""

    def value(self, name: str) -> float:
        """Return one figure."""
        return next(each.value for each in self.figures if each.name == name)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as JSON: what was asked, the figures with their formulas, the rates with their sources."""
        return {
            "schema": SCHEMA, "load": asdict(self.load), "store": self.store,
            "figures": [asdict(figure) for figure in self.figures],
            "rates": [{"name": name, **asdict(rate)} for name, rate in self.rates.named().items()],
            "counting": COUNTING[self.load.oracle].source, "notes": list(self.notes),
        }  # fmt: skip


def capacity(load: Load, rates: MeasuredRates = MEASURED) -> Capacity:
    """Compute what a load takes.

    >>> from treetop.planning.capacity import Load, capacity
    >>> round(capacity(Load(users=86_400, parties=1, days=1)).value("reports a second, mean"))
    1
    """
    mean = load.users / (load.days * DAY)
    peak = mean * load.peak
    sqlite, postgres = _report_seconds(load.arrival, rates)
    alone = peak / load.parties * sqlite <= load.busy
    each = sqlite if alone else postgres
    cores_each = max(1, ceil(peak / load.parties * each / load.busy))
    found = [
        Figure("Load", "reports a second, mean", mean, "reports/s", "users / seconds that the task is open"),
        Figure("Load", "reports a second, peak", peak, "reports/s", f"mean × {load.peak:g}, which you assume"),
        Figure("Load", "cores of a party", cores_each, "cores",
               f"peak of a party × {each * 1e6:,.0f} µs of a core for a report / {load.busy:g} busy, one at least"),
        Figure("Load", "cores in all", load.parties * cores_each + 1, "cores", "those of all parties, and one server"),
        *_storage(load, rates, alone),
        *_counting(load, rates, cores_each),
        *_bandwidth(load, rates, mean),
    ]  # fmt: skip
    store = "one process with SQLite" if alone else f"{cores_each} cores of intakes and PostgreSQL"
    return Capacity(load, store, (*found, *_money(load, found)), rates, tuple(_notes(load)))


def _notes(load: Load) -> Iterator[str]:
    """Say where a plan goes beyond what was measured."""
    if load.users > load.parties * STORED:
        yield f"a party would hold more than {STORED:,} reports, the most that was measured: this is extrapolated"
    if load.arrival != "handshake":
        yield f"what {'the balancer' if load.arrival == 'balancer' else 'the back end'} itself takes was not measured"


def _report_seconds(arrival: str, rates: MeasuredRates) -> tuple[float, float]:
    """Return the core seconds of a report with SQLite, and with PostgreSQL (the database's own included)."""
    if arrival == "batches":
        return rates.batch_stored.value, rates.postgres_batch.value
    if arrival == "balancer":
        return rates.single_stored.value, rates.postgres_single.value
    more = rates.handshake.value - rates.single.value  # what TLS and its handshake add to a report
    return rates.single_stored.value + more, rates.postgres_single.value + more


def _body(load: Load) -> int:
    """Return the bytes of a report, as its oracle writes it."""
    return -(-find_oracle(load.oracle).over(Epsilon(load.epsilon), load.candidates + 1).report_bits // 8)


def _storage(load: Load, rates: MeasuredRates, alone: bool) -> list[Figure]:
    opened, closed = (rates.sqlite_open, rates.sqlite_closed) if alone else (rates.postgres_open, rates.postgres_closed)
    name, body = "SQLite" if alone else "PostgreSQL", _body(load)
    around = opened.value - WEIGHED_BODY
    return [
        Figure("Storage", "stores while the task is open", load.users * (around + body), "bytes",
               f"users × ({around:.1f} bytes of {name} around a report + {body} of its own)"),
        Figure("Storage", "stores afterwards", load.users * closed.value, "bytes",
               f"users × {closed.value:.1f} bytes of {name}, so that no ticket counts twice"),
        Figure("Storage", "report files", float(load.users * body), "bytes",
               f"users × {body} bytes, which the files stayed below"),
    ]  # fmt: skip


def _counting(load: Load, rates: MeasuredRates, cores: int) -> list[Figure]:
    rate, body = COUNTING[load.oracle], _body(load)
    signs = find_oracle(load.oracle).over(Epsilon(load.epsilon), load.candidates + 1).report_slots - 1
    each = rate.report + rate.sign * signs + rate.pair * load.candidates + rate.byte * body
    counted = load.users * each + load.parties * rate.party
    closing = load.users * rates.closing.value
    found = [
        Figure("Counting", "closing the stores", closing, "core seconds",
               f"users × {rates.closing.value * 1e6:.1f} µs to move a report into its file"),
        Figure("Counting", "counting", counted, "core seconds",
               f"users × {each * 1e9:,.1f} ns{f' + parties × {rate.party:.2f} s' if rate.party else ''}"
               f"{_parts(rate, signs, load.candidates)}"),
        Figure("Counting", "until a party has counted", (closing + counted / cores) / load.parties, "seconds",
               f"both / parties; counting on {cores} core{'s' * (cores > 1)}, closing in one thread"),
    ]  # fmt: skip
    if rate.card_report is not None:
        seconds = load.users * (rate.card_report + rate.card_pair * load.candidates)
        formula = "users × what a report takes on one NVIDIA H200, reports in main memory"
        found.append(Figure("Counting", "counting on one graphics card", seconds, "seconds", formula))
    return found


def _parts(rate: CountingRates, signs: int, candidates: int) -> str:
    """Say what the time of a report depends on."""
    if rate.sign:
        return f" ({signs} signs of a report at this epsilon; all names at once)"
    return f" (against {candidates:,} candidates)" if rate.pair else ""


def _bandwidth(load: Load, rates: MeasuredRates, mean: float) -> list[Figure]:
    sent, received = rates.sent.value, rates.received.value
    if load.arrival == "batches":
        sent = received = 0.0
    found = [
        Figure("Bandwidth", "from devices", load.users * sent, "bytes", f"users × {sent:,.0f} bytes"),
        Figure("Bandwidth", "to devices", load.users * received, "bytes", f"users × {received:,.0f} bytes"),
        Figure("Bandwidth", "to devices at the peak", 8 * mean * load.peak * received, "bit/s",
               "reports a second at the peak × the same"),
    ]  # fmt: skip
    return found if sent else []


def _money(load: Load, found: list[Figure]) -> list[Figure]:
    value, prices = {figure.name: figure.value for figure in found}, load.prices
    hours = value["cores in all"] * 24 * load.days
    work = (value["closing the stores"] + value["counting"]) / HOUR
    opened = value["stores while the task is open"] / 1e9 * load.days
    kept = (value["stores afterwards"] + value["report files"]) / 1e9 * load.kept_days
    out = value.get("to devices", 0.0) / 1e9
    costs = [
        ("cores", hours * prices.core_hour, f"cores × {24 * load.days:g} hours × {prices.core_hour:g}"),
        ("counting cores", work * prices.core_hour, f"core hours of closing and counting × {prices.core_hour:g}"),
        ("storage", (opened + kept) / MONTH_DAYS * prices.gigabyte_month,
         f"gigabyte-months, {load.days:g} days open and {load.kept_days:g} kept, × {prices.gigabyte_month:g}"),
        ("traffic to devices", out * prices.gigabyte_out, f"gigabytes × {prices.gigabyte_out:g}"),
    ]  # fmt: skip
    total = sum(cost for _, cost, _ in costs)
    return [
        *(Figure("Money", name, cost, "money", formula) for name, cost, formula in costs),
        Figure("Money", "in all", total, "money", "the sum; prices are yours to say"),
        Figure("Money", "a million users", total / load.users * 1e6, "money", "in all / users × 1,000,000"),
    ]


def whole_number(text: str) -> int:
    """Return a whole number, which may be written as 1e9, or raise a `ValueError`."""
    number = float(text.replace(",", "").replace("_", ""))
    if not number.is_integer():
        raise ValueError(text)
    return int(number)


HOURS = ((3_600, "h"), (60, "min"), (1, "s"), (1e-3, "ms"))
SCALES: Mapping[str, tuple[tuple[float, str], ...]] = {
    "bytes": ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB"), (1, "bytes")),
    "bit/s": ((1e12, "Tbit/s"), (1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"), (1, "bit/s")),
    "seconds": ((DAY, "days"), *HOURS),
    "core seconds": tuple((size, f"core {name}") for size, name in HOURS),
    "reports/s": ((0, "/s"),),
}


def shown(figure: Figure) -> str:
    """Return a figure as people read it, with three digits that count."""
    value = figure.value
    if figure.unit in SCALES:
        scale = SCALES[figure.unit]
        size, name = next(((size, name) for size, name in scale if value >= size), scale[-1])
        value /= size or 1
        return f"{value:,.0f} {name}" if value >= 100 else f"{value:.3g} {name}"
    return f"{value:,.0f}" if figure.unit == "cores" else f"{value:,.2f}"
