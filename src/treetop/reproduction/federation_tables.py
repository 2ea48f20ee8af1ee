"""What the federations hold, beside the paper's dataset table."""

from collections.abc import Iterator

from treetop.reproduction.federation_variants import FederationFacts
from treetop.reproduction.paper_values import printed
from treetop.reproduction.point import Point
from treetop.reproduction.run import Reproduction
from treetop.reproduction.specification import Specification, Variant
from treetop.reproduction.tables import NOTHING, Entry, ReportTable, TableRow, federation_name


def federation_tables(specification: Specification, reproduction: Reproduction) -> list[ReportTable]:
    """Return one table of federations and one of their parties."""
    names = specification.federations
    whole = tuple(_federation_row(specification, name, reproduction) for name in names)
    parties = tuple(row for name in names for row in _party_rows(specification, name, reproduction))
    columns = ("users", "parties", "items", "items of all parties")
    return [
        ReportTable("federations", ("federation", "file"), columns, whole),
        ReportTable("parties", ("federation", "party", "in the paper"), ("users", "unique items"), parties),
    ]


def _federation_row(specification: Specification, name: str, reproduction: Reproduction) -> TableRow:
    found, facts = reproduction.provenances[name], reproduction.measurements.facts.get(Variant(name))
    paper = _printed(specification, "users", name)
    ours = (facts.users, facts.parties, facts.items, facts.common) if facts else (None,) * 4
    theirs = (paper.get("total"), paper.get("parties"), None, paper.get("common"))
    entries = tuple(Entry(_whole(mine), _whole(printed)) for mine, printed in zip(ours, theirs, strict=True))
    source = found.path.name if found.path else NOTHING if found.missing else "syn"
    return TableRow((federation_name(name, reproduction), source), entries, (), found.remark)


def _party_rows(specification: Specification, name: str, reproduction: Reproduction) -> Iterator[TableRow]:
    """Yield the parties side by side, largest first; where we have none, the paper's stand alone."""
    facts = reproduction.measurements.facts.get(Variant(name))
    users, items = _printed(specification, "party_users", name), _printed(specification, "party_items", name)
    for place, party in enumerate(users):
        mine, my_users, my_items = _party(facts, place)
        entries = (Entry(my_users, _whole(users[party])), Entry(my_items, _whole(items[party])))
        yield TableRow((federation_name(name, reproduction), mine, party), entries)


def _party(facts: FederationFacts | None, place: int) -> tuple[str, str, str]:
    if facts is None or place >= facts.parties:
        return NOTHING, NOTHING, NOTHING
    party = facts.by_party[place]
    return party.name, _whole(party.users), _whole(party.items)


def _printed(specification: Specification, metric: str, name: str) -> dict[str, float | str]:
    return printed(specification.paper, metric, Point(name, "", 0.0, 0)).values


def _whole(value: float | str | None) -> str:
    return "" if value is None else value if isinstance(value, str) else f"{value:,.0f}"
