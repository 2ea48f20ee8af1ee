import pytest

from treetop.cli.bars import bar, rounded
from treetop.cli.options import read_list, read_settings
from treetop.errors import InvalidInput


def test_a_bar_ends_in_its_error() -> None:
    assert bar(50, 10, 100, 10).plain == "████▓░    "
    assert bar(-5, 10, 100, 10).plain.strip() == ""
    assert bar(0, 0, 0, 10).plain == " " * 10
    assert bar(100, 50, 100, 10).plain == "█████▓▓▓▓▓"


def test_estimates_are_written_with_their_error() -> None:
    assert rounded(12345.6, 789.1) == "12,346 ± 789"


def test_settings_are_pairs() -> None:
    assert read_settings(None) == {}
    assert read_settings(["levels=12", "hash_key=a=b"]) == {"levels": "12", "hash_key": "a=b"}
    for pairs in (["levels"], ["=3"], ["levels=1", "levels=2"]):
        with pytest.raises(InvalidInput, match="--set"):
            read_settings(pairs)


def test_lists_are_separated_by_commas() -> None:
    assert read_list("--ks", "10, 20", int, "whole numbers") == (10, 20)
    with pytest.raises(InvalidInput, match="--ks expects whole numbers separated by commas, found '1,x'"):
        read_list("--ks", "1,x", int, "whole numbers")
