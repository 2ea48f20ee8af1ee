import json
import stat
from pathlib import Path

import pytest
from tests.support.hostile_texts import BEYOND_THE_BMP, MARKUP
from tests.support.refusals import refused

from treetop.datasets.loading import as_federation
from treetop.errors import InvalidInput
from treetop.federation.server.order_json import order_to_json, query_to_json
from treetop.federation.server.planning import planned_task
from treetop.federation.wire.item_lists import ItemList
from treetop.mechanisms.query import Query
from treetop.oracles.set_reports import SetQuestion
from treetop.query.local_federation import opened_folder
from treetop.services.local.folder import FederationFolder, LocalOptions, checked_same
from treetop.services.local.processes import free_ports
from treetop.services.local.run import order_of
from treetop.services.party.settings import PartySettings
from treetop.services.server.schemas import OrderWanted
from treetop.services.server.settings import ServerSettings
from treetop.toml_files import read_toml

WORDS = query_to_json(Query(encoding="words"))
PEOPLE = as_federation({"north/1": {"tea": 3, "milk": 1}, "süd": {"tea": 2}})


def begun(path: Path) -> FederationFolder:
    return FederationFolder.begin(path, LocalOptions("drinks", 2, 6, WORDS), PEOPLE)


def test_a_folder_is_opened_again_as_it_was(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    folder.remember_task("ab" * 32)
    again = FederationFolder(tmp_path)
    assert (again.options, again.task) == (folder.options, "ab" * 32)
    assert again.signing_key.public == folder.signing_key.public
    assert {name: home.users for name, home in again.parties.items()} == {"north/1": 4, "süd": 2}
    assert len({home.path for home in again.parties.values()}) == 2


def test_secrets_are_for_their_owner_alone(tmp_path: Path) -> None:
    begun(tmp_path)
    keys = list(tmp_path.rglob("*.key"))
    assert len(keys) == 2 + 3 * 2
    assert len({path.read_bytes() for path in keys}) == len(keys)
    assert all(stat.S_IMODE(path.stat().st_mode) == 0o600 for path in keys)


def test_its_settings_are_those_that_people_write(tmp_path: Path) -> None:
    folder = begun(tmp_path)
    ports = dict(zip(folder.parties, free_ports(2), strict=True))
    folder.write_settings(ports, 8460)
    server = read_toml(tmp_path / "server" / "server.toml", ServerSettings, {})
    assert {party.name: party.url for party in server.parties} == {
        name: f"http://127.0.0.1:{port}" for name, port in ports.items()
    }
    for name, home in folder.parties.items():
        party = read_toml(home.path / "party.toml", PartySettings, {})
        assert party.name == name
        assert party.server_signing_keys == (folder.signing_key.public,)
        assert [key.reveal() for key in (party.server_access[0].key,) if key] == [
            entry.key.reveal() for entry in server.parties if entry.name == name
        ]


def test_other_options_are_refused() -> None:
    options = LocalOptions()
    checked_same(options, {"k": 10, "seed": None})
    with refused("federation_differs", InvalidInput, name="k", known=10, value=20):
        checked_same(options, {"k": 20})


@pytest.mark.parametrize("content", [b"", b"{}", b"[]", b'{"version": 1, "options": {}, "task": null}'])
def test_a_folder_of_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    with refused("not_a_federation", InvalidInput):
        FederationFolder(tmp_path)
    (tmp_path / "federation.json").write_bytes(content)
    with refused("federation_file_malformed", InvalidInput):
        FederationFolder(tmp_path)


def no_list(digest: str) -> ItemList:
    raise AssertionError(digest)


def test_the_order_can_be_asked_and_sent() -> None:
    sent = json.dumps(order_to_json(order_of(LocalOptions(), {"a": 5, "b": 7})))
    order = OrderWanted.model_validate_json(sent).order(("a", "b"), no_list)
    assert order.parties == ("b", "a")
    assert planned_task(order).least.estimate == 50


def test_parties_beyond_the_bmp_are_written_as_toml_reads_them(tmp_path: Path) -> None:
    """And those whose names nobody could read are refused before anything is written."""
    people = as_federation({name: {"tea": 3} for name in (*BEYOND_THE_BMP, *MARKUP, '"quoted\\')})
    folder = FederationFolder.begin(tmp_path, LocalOptions("drinks", query=WORDS), people)
    folder.write_settings(dict.fromkeys(folder.parties, 8461), 8460)
    names = [party.name for party in people.parties]
    server = read_toml(tmp_path / "server" / "server.toml", ServerSettings, {})
    assert [party.name for party in server.parties] == names
    for name, home in folder.parties.items():
        assert read_toml(home.path / "party.toml", PartySettings, {}).name == name


def test_a_party_that_nobody_can_read_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    held = tmp_path / "held.csv"
    held.write_text("party,item,users\nnorth\u202e,tea,3\nsouth,tea,3\n", "utf-8")
    with pytest.raises(InvalidInput, match="party must be without control and invisible characters, found 'north"):
        opened_folder(tmp_path / "up", {"data": str(held), "users": 6, "k": 1})
    assert not (tmp_path / "up").exists()


EVENTS = "party,user_id,item,count\nnorth,u1,tea,2\nnorth,u1,rum,1\nsouth,u2,tea,1\nsouth,u3,rum,1\n"


def test_a_folder_of_users_with_sets(tmp_path: Path) -> None:
    (tmp_path / "events.csv").write_text(EVENTS)
    wanted = {"data": str(tmp_path / "events.csv"), "user_column": "user_id", "items_per_user": 2}
    folder = opened_folder(tmp_path / "up", wanted)
    assert {name: home.users for name, home in folder.parties.items()} == {"north": 1, "south": 2}
    again = FederationFolder(tmp_path / "up")
    assert again.options.asked(None).sets == SetQuestion(2, "holders")
    order = OrderWanted(**order_to_json(order_of(again.options, {"north": 1, "south": 2})))
    task = planned_task(order.order(("north", "south"), lambda _: pytest.fail("no list")))
    assert task.sets == SetQuestion(2, "holders")
    assert "items_per_user" not in dict(task.settings)
    with refused("federation_differs", InvalidInput, name="items_per_user", known=2, value=3):
        opened_folder(tmp_path / "up", {"items_per_user": 3})


@pytest.mark.parametrize(("wanted", "told"), [
    ({}, "user_column_unnamed"),
    ({"rows_are_users": True, "items_per_user": 2}, "set_option_without_sets"),
    ({"rows_are_users": True, "reading": "shares"}, "set_option_without_sets"),
    ({"user_column": "user_id", "reading": "occurrences"}, "reading_occurrences"),
    ({"user_column": "user_id", "mode": "rounds"}, "sets_in_rounds"),
    ({"user_column": "user_id", "mechanism": "taps"}, "mechanism_without_sets"),
])  # fmt: skip
def test_sets_that_cannot_be_asked_about_are_refused(tmp_path: Path, wanted: dict[str, object], told: str) -> None:
    (tmp_path / "events.csv").write_text(EVENTS)
    with refused(told, InvalidInput):
        opened_folder(tmp_path / "up", {"data": str(tmp_path / "events.csv"), **wanted})
    assert not FederationFolder.is_one(tmp_path / "up")


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ("syn", "syn"),
        ("/home/ada/secret project/drinks.csv", "drinks.csv"),
        ("postgresql://ada:hunter2@host/shop?sslmode=require", "shop"),
        ("reports/", "reports"),
        ("/", "data"),
    ],
)
def test_a_task_names_the_data_without_folders_and_credentials(data: str, shown: str) -> None:
    order = order_of(LocalOptions(data, query=WORDS), {"north": 2000})
    assert (order.name, order.attribute) == (f"{shown} on this machine", shown)
