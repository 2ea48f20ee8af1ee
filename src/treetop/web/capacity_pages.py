"""The page that computes what so many users cost; it asks nobody, and says where every rate was measured."""

import shlex
from typing import Any

from starlette.responses import Response

from treetop.errors import TreetopError
from treetop.planning.capacity import ARRIVALS, Capacity, Load, Prices, capacity, shown, whole_number
from treetop.planning.measured_rates import COUNTING
from treetop.web.question_form import number
from treetop.web.site import Link, Site, Visit

LINK = Link("/capacity", "Capacity")
LOAD, PRICES = Load(), Prices()


def add_capacity(site: Site) -> None:
    """Add the page; a form that is sent is an address, so that a plan can be kept and passed on."""

    def page(visit: Visit) -> Response:
        values: dict[str, Any]
        try:
            asked = asked_load(visit)
            values = {"error": "", **_values(capacity(asked))}
        except TreetopError as refusal:
            values = {"error": str(refusal), "groups": {}, "capacity": None, "command": ""}
        template = "capacity_figures.html.jinja" if visit.part_only else "capacity.html.jinja"
        return site.shown(
            visit, template, 422 if values["error"] and not visit.part_only else 200, form=_form(visit),
            arrivals=ARRIVALS, oracles=tuple(COUNTING), **values,
        )  # fmt: skip

    site.add("GET", LINK.path, page)


def asked_load(visit: Visit) -> Load:
    """Read the form; a field that is not there keeps its default."""
    return Load(
        number(visit, "users", LOAD.users, whole_number), number(visit, "parties", LOAD.parties, whole_number),
        number(visit, "days", LOAD.days, float), number(visit, "epsilon", LOAD.epsilon, float),
        visit.field("oracle") or LOAD.oracle, number(visit, "candidates", LOAD.candidates, whole_number),
        visit.field("arrival") or LOAD.arrival, number(visit, "peak", LOAD.peak, float),
        number(visit, "busy", LOAD.busy, float), number(visit, "kept_days", LOAD.kept_days, float),
        Prices(
            number(visit, "core_hour", PRICES.core_hour, float),
            number(visit, "gigabyte_month", PRICES.gigabyte_month, float),
            number(visit, "gigabyte_out", PRICES.gigabyte_out, float),
        ),
    )  # fmt: skip


def _form(visit: Visit) -> dict[str, str]:
    """Return every field as it was sent, or its default; nothing that somebody wrote is lost."""
    plain = {name: value for name, value in vars(LOAD).items() if name != "prices"}
    return {
        name: visit.field(name, f"{value:g}" if isinstance(value, float) else str(value))
        for name, value in {**plain, **vars(PRICES)}.items()
    }


def _values(found: Capacity) -> dict[str, Any]:
    groups: dict[str, list[tuple[str, str, str]]] = {}
    for figure in found.figures:
        groups.setdefault(figure.group, []).append((figure.name, shown(figure), figure.formula))
    rates = [(rate, f"{rate.value * 1e6:,.4g} µs" if rate.unit == "core seconds" else f"{rate.value:,.4g} bytes")
             for rate in found.rates.named().values()]  # fmt: skip
    return {
        "capacity": found, "groups": groups, "command": _command(found.load), "rates": rates,
        "counting": COUNTING[found.load.oracle].source, "total": shown(_named(found, "in all")),
        "peak": shown(_named(found, "reports a second, peak")), "cores": shown(_named(found, "cores in all")),
    }  # fmt: skip


def _named(found: Capacity, name: str) -> Any:
    return next(figure for figure in found.figures if figure.name == name)


def _command(load: Load) -> str:
    """Return the same as one command: what differs from the defaults."""
    words = ["treetop", "capacity", "--users", str(load.users)]
    given, usual = {**vars(load), **vars(load.prices)}, {**vars(LOAD), **vars(PRICES)}
    for name, value in given.items():
        if name not in ("users", "prices") and value != usual[name]:
            words += [f"--{name.replace('_', '-')}", f"{value:g}" if isinstance(value, float) else str(value)]
    return shlex.join(words)
