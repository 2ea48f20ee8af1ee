from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.answers import DEPLOYED
from tests.support.refusals import refused

from treetop.answers.parts import AnswerItem, Truth
from treetop.errors import InvalidInput
from treetop.federation.wire.item_lists import ItemList
from treetop.query.local_federation import GroundTruth, opened_folder
from treetop.services.local.folder import FederationFolder
from treetop.wording import Note


@pytest.fixture
def drinks(tmp_path: Path) -> str:
    path = tmp_path / "drinks.csv"
    path.write_text("party,item,users\nnorth,chai,60\nnorth,cocoa,30\nsouth,chai,20\nsouth,iced tea!,40\n")
    return str(path)


def test_what_was_not_asked_for_is_chosen_from_the_data(tmp_path: Path, drinks: str) -> None:
    folder = opened_folder(tmp_path / "up", {"data": drinks, "k": 2, "seed": None, "encoding": None})
    assert (folder.options.query["encoding"], folder.options.parties, folder.options.users) == ("hashed", 2, 150)
    assert opened_folder(tmp_path / "up", {"k": None}).options == folder.options
    with refused("federation_differs", InvalidInput, name="k", known=2, value=3):
        opened_folder(tmp_path / "up", {"k": 3})


def test_more_users_than_the_data_have_are_not_invented_silently(tmp_path: Path, drinks: str) -> None:
    """The answer says so in its notes, which text and JSON show; the same command goes on with the folder."""
    wanted = {"data": drinks, "k": 2, "seed": 7, "encoding": "hashed", "users": 1_000_000}
    folder = opened_folder(tmp_path / "up", wanted)
    assert sum(home.users for home in folder.parties.values()) == 150
    note = Note("fewer_users_than_asked", asked=1_000_000, users=150, parties=2, data=drinks)
    assert note.to_json() in GroundTruth(folder).scored(DEPLOYED).to_json()["notes"]
    assert opened_folder(tmp_path / "up", wanted).options.users == 1_000_000
    for users in (150, 100):
        exact = opened_folder(tmp_path / str(users), {**wanted, "users": users})
        assert note.code not in {said.code for said in GroundTruth(exact).scored(DEPLOYED).notes}


def test_the_built_in_data_have_510_000_users_in_three_parties(tmp_path: Path) -> None:
    folder = opened_folder(tmp_path / "up", {"users": 1_000_000, "seed": 1})
    notes = GroundTruth(folder).scored(replace(DEPLOYED, items=())).notes
    assert Note("fewer_users_than_asked", asked=1_000_000, users=510_000, parties=3, data="syn") in notes


def test_an_answer_is_named_and_scored(tmp_path: Path, drinks: str) -> None:
    wanted = {"data": drinks, "k": 2, "seed": 7, "encoding": "hashed", "mechanism": "canopy"}
    truth = GroundTruth(opened_folder(tmp_path / "up", wanted))
    codec = truth.population.codec
    hashes = [codec.show(int(codec.encode([item]).codes[0])) for item in ("iced tea!", "nobody's")]
    items = tuple(AnswerItem(item, 50.0, 0.3, 5.0) for item in hashes)
    scored = truth.scored(replace(DEPLOYED, items=items, truth=None))
    assert [(row.item, row.true_count) for row in scored.items] == [("iced tea!", 40), (hashes[1], 0)]
    assert scored.truth == Truth(0.5, 1 / 3)
    assert scored.seed == 7
    assert scored.notes[0] == DEPLOYED.notes[0]
    assert Note("local_reports_lowered", reports=50) in scored.notes


def test_names_that_the_federation_read_stay_as_it_read_them(tmp_path: Path, drinks: str) -> None:
    """A hash counts for nothing unless its text was read, and a text that was read wrongly counts for another item."""
    words = ItemList(("chai", "cocoa", "tea"), source="words.txt")
    wanted = {"data": drinks, "k": 3, "seed": 7, "normalise": "casefold"}
    folder, told = opened_folder(tmp_path / "up", wanted, {"word_list": words}), words.digest
    assert folder.options.query["mechanism"] == "panorama"
    assert (folder.options.query["encoding"], folder.options.query["word_list"]) == ("hashed", told)
    assert folder.listed == words
    truth = GroundTruth(FederationFolder(tmp_path / "up"))
    codec = truth.population.codec
    unread = codec.show(int(codec.encode(["iced tea!"]).codes[0]))
    rows = [("chai", "listed"), (unread, "unknown"), ("cocoa or tea", "listed"), ("#000001", "unknown")]
    items = tuple(AnswerItem(item, 50.0, 0.3, 5.0, source=source) for item, source in rows)  # type: ignore[arg-type]
    scored = truth.scored(replace(DEPLOYED, items=items, truth=None, k=3))
    assert [(row.item, row.true_count) for row in scored.items] == [
        ("chai", 80), (unread, 40), ("cocoa or tea", 30), ("#000001", 0)
    ]  # fmt: skip
    assert scored.truth is not None
    assert scored.truth.f1 == pytest.approx(2 / 7)
    with refused("federation_differs", InvalidInput, name="word_list"):
        opened_folder(tmp_path / "up", {}, {"word_list": ItemList(("chai",))})


def test_a_catalogue_is_scored_by_its_places(tmp_path: Path, drinks: str) -> None:
    known = {"catalogue": ItemList(("cocoa", "chai"))}
    folder = opened_folder(tmp_path / "up", {"data": drinks, "k": 2, "seed": 7}, known)
    assert (folder.options.query["encoding"], folder.options.query["settings"]) == (None, {})
    items = (AnswerItem("chai", 50.0, 0.3, 5.0), AnswerItem("cocoa", 50.0, 0.3, 5.0))
    scored = GroundTruth(folder).scored(replace(DEPLOYED, items=items, truth=None, k=2))
    assert [(row.item, row.true_count) for row in scored.items] == [("chai", 80), ("cocoa", 30)]
    assert scored.truth == Truth(1.0, 1.0)


def test_long_texts_take_the_chunks_that_they_need(tmp_path: Path) -> None:
    path = tmp_path / "pages.csv"
    path.write_text("party,item\n" + "".join(f"north,https://example.org/page/{n}/of/many\n" for n in range(60)))
    settings = opened_folder(tmp_path / "up", {"data": str(path), "k": 1, "seed": 7}).options.query["settings"]
    assert int(settings["text_chunks"]) > 12
    assert len(settings["hash_key"]) == 16
