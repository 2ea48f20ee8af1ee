from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.answers import DEPLOYED

from treetop.errors import InvalidInput
from treetop.query.answer import AnswerItem, Truth
from treetop.query.local_federation import GroundTruth, opened_folder


@pytest.fixture
def drinks(tmp_path: Path) -> str:
    path = tmp_path / "drinks.csv"
    path.write_text("party,item,users\nnorth,chai,60\nnorth,cocoa,30\nsouth,chai,20\nsouth,iced tea!,40\n")
    return str(path)


def test_what_was_not_asked_for_is_chosen_from_the_data(tmp_path: Path, drinks: str) -> None:
    folder = opened_folder(tmp_path / "up", {"data": drinks, "k": 2, "seed": None, "encoding": None})
    assert (folder.options.encoding, folder.options.parties, folder.options.users) == ("hashed", 2, 150)
    assert opened_folder(tmp_path / "up", {"k": None}).options == folder.options
    with pytest.raises(InvalidInput, match="k = 2, found 3"):
        opened_folder(tmp_path / "up", {"k": 3})


def test_more_users_than_the_data_have_are_not_invented_silently(tmp_path: Path, drinks: str) -> None:
    """The answer says so in its notes, which text and JSON show; the same command goes on with the folder."""
    wanted = {"data": drinks, "k": 2, "seed": 7, "encoding": "hashed", "users": 1_000_000}
    folder = opened_folder(tmp_path / "up", wanted)
    assert sum(home.users for home in folder.parties.values()) == 150
    note = f"1,000,000 users were asked for: 2 parties of {drinks} have 150, all took part"
    assert note in GroundTruth(folder).scored(DEPLOYED).to_json()["notes"]
    assert opened_folder(tmp_path / "up", wanted).options.users == 1_000_000
    for users in (150, 100):
        exact = opened_folder(tmp_path / str(users), {**wanted, "users": users})
        assert not any("were asked for" in said for said in GroundTruth(exact).scored(DEPLOYED).notes)


def test_the_built_in_data_have_510_000_users_in_three_parties(tmp_path: Path) -> None:
    folder = opened_folder(tmp_path / "up", {"users": 1_000_000, "seed": 1})
    notes = GroundTruth(folder).scored(replace(DEPLOYED, items=())).notes
    assert "1,000,000 users were asked for: 3 parties of syn have 510,000, all took part" in notes


def test_an_answer_is_named_and_scored(tmp_path: Path, drinks: str) -> None:
    folder = opened_folder(tmp_path / "up", {"data": drinks, "k": 2, "seed": 7, "encoding": "hashed"})
    truth = GroundTruth(folder)
    codec = truth.population.codec
    hashes = [codec.show(int(codec.encode([item]).codes[0])) for item in ("iced tea!", "nobody's")]
    items = tuple(AnswerItem(item, 50.0, 0.3, 5.0) for item in hashes)
    scored = truth.scored(replace(DEPLOYED, items=items, truth=None))
    assert [(row.item, row.true_count) for row in scored.items] == [("iced tea!", 40), (hashes[1], 0)]
    assert scored.truth == Truth(0.5, 1 / 3)
    assert scored.seed == 7
    assert scored.notes[0] == DEPLOYED.notes[0]
    assert any("a level needs 50 reports" in note for note in scored.notes)
