from pathlib import Path
from typing import Any

import pytest
from tests.support.every_command import app
from typer.testing import CliRunner

from treetop.cli.federation.asking import read_expected, read_lists
from treetop.cli.federation.query import following, spent_budgets
from treetop.errors import InvalidInput


def test_expected_users_are_read() -> None:
    assert read_expected(["north=12000", "a=b=3"]) == {"north": 12000, "a=b": 3}


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["north"], "expects NAME=USERS, found 'north'"),
        (["=3"], "expects NAME=USERS"),
        (["north=many"], "expects NAME=USERS"),
        (["north=-3"], "expects NAME=USERS"),
        (["north=3", "north=4"], "names 'north' twice"),
    ],
)
def test_other_expectations_are_refused(pairs: list[str], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        read_expected(pairs)


def test_a_list_is_put_through_the_steps_that_devices_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "words.txt").write_text("Chai\nlatte\nCHAI\n")
    words = read_lists(None, str(tmp_path / "words.txt"), "popularity", "casefold")["word_list"]
    assert (words.items, words.ordered, words.source) == (("chai", "latte"), True, "words.txt")
    assert "1 of its items were merged with others" in " ".join(capsys.readouterr().err.split())
    known = read_lists(tmp_path / "words.txt", None, None, None)["catalogue"]
    assert (known.items, known.ordered) == (("Chai", "latte", "CHAI"), False)
    assert read_lists(None, None, None, "casefold") == {}


def test_there_is_one_list_at_most(tmp_path: Path) -> None:
    (tmp_path / "words.txt").write_text("Chai\n")
    with pytest.raises(InvalidInput, match="leave one of them out"):
        read_lists(tmp_path / "words.txt", str(tmp_path / "words.txt"), None, None)
    with pytest.raises(InvalidInput, match="expected a word list to stand in the order"):
        read_lists(None, None, "popularity", None)


def test_the_command_that_follows_a_query_has_all_that_it_needs() -> None:
    task = "ab" * 32
    words = f"treetop query --server https://a.example --key-file 'my keys/admin.key' --ca ca.pem --task {task}"
    assert following("https://a.example", Path("my keys/admin.key"), Path("ca.pem"), task) == words
    assert " --ca " not in following("https://a.example", Path("admin.key"), None, task)


@pytest.mark.parametrize(
    "words", [["query", "--key-file", "no.key"], ["server", "verify", "--server-key", "ab" * 32]], ids=" ".join
)
def test_what_is_no_digest_is_refused_before_anybody_is_asked(words: list[str]) -> None:
    refused = CliRunner().invoke(app, [*words, "--server", "http://localhost:1", "--task", "00"])
    assert isinstance(refused.exception, InvalidInput)
    assert str(refused.exception) == "--task: expected 64 hexadecimal digits, found something else"


def test_spent_budgets_are_said_before_anything_is_asked() -> None:
    class Told:
        def parties(self) -> list[dict[str, Any]]:
            refused = {"budget_lifetime": 1200, "not_my_week": 1}
            return [{"name": "north", "refusals": refused}, {"name": "south", "refusals": {}}]

    assert list(spent_budgets(Told())) == [  # type: ignore[arg-type]
        "party 'north', the last time: 1,200 devices could not answer: their lifetime budget is spent",
    ]
