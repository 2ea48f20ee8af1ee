"""The reference of settings files has every key of the classes that read them, with its default."""

import re
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

import pytest

from treetop.adapters.http.endpoint_settings import AccessKey, ServiceLimits, Tls
from treetop.services.party.settings import Limits, PartySettings
from treetop.services.server.settings import KnownParty, ServerSettings
from treetop.toml_files import Secret

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "settings_files.md").read_text("utf-8")
SPOKEN = {"commit_file": "beside an SQLite", "limits": "see below"}


def rows(heading: str) -> dict[str, list[str]]:
    """Return the cells of a table's rows by what stands in the first."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if "| `" in line]
    return {row[0]: row[1:] for row in cells}


def key_of(field: "Field[Any]") -> str:
    """Return how a field is written in the file: a secret is named, never given."""
    is_secret = field.type is Secret or field.type == Secret | None
    return f"`{field.name}_file`, `{field.name}_env`" if is_secret else f"`{field.name}`"


def default_of(field: "Field[Any]") -> str:
    if field.name in SPOKEN:
        return SPOKEN[field.name]
    if field.default is MISSING:
        return "required"
    if field.default in (None, "") and not isinstance(field.default, bool):
        return "none"
    text = {(): "[]", True: "true", False: "false"}.get(field.default, field.default)
    return f'`"{text}"`' if isinstance(field.default, str) else f"`{text}`"


@pytest.mark.parametrize(
    ("heading", "read_by"),
    [("party.toml", PartySettings), ("server.toml", ServerSettings), ("Parties of a server", KnownParty),
     ("Access keys", AccessKey), ("TLS", Tls)],
)  # fmt: skip
def test_every_key_is_there_with_its_default(heading: str, read_by: type) -> None:
    known = {key_of(field): default_of(field) for field in fields(read_by)}
    documented = rows(heading)
    assert set(documented) == set(known)
    for key, default in known.items():
        assert documented[key][0].startswith(default), key


def test_limits_of_both_are_there() -> None:
    known = [{f"`{field.name}`": str(field.default) for field in fields(each)} for each in (Limits, ServiceLimits)]
    documented = rows("Limits")
    assert set(documented) == {*known[0], *known[1]}
    for key, (party, server, _) in documented.items():
        assert [re.sub(r"[`–]", "", party), re.sub(r"[`–]", "", server)] == [each.get(key, "") for each in known]
