import pytest
from tests.support.refusals import refused

from treetop.cli.options import read_list, read_settings, seconds_of
from treetop.errors import InvalidInput


def test_settings_are_pairs() -> None:
    assert read_settings(None) == {}
    assert read_settings(["levels=12", "hash_key=a=b"]) == {"levels": "12", "hash_key": "a=b"}
    for pairs in (["levels"], ["=3"], ["levels=1", "levels=2"]):
        with pytest.raises(InvalidInput, match="--set"):
            read_settings(pairs)


def test_lists_are_separated_by_commas() -> None:
    assert read_list("--ks", "10, 20", int, "whole numbers") == (10, 20)
    with refused("list_malformed", InvalidInput, option="--ks", what="whole numbers", text="1,x"):
        read_list("--ks", "1,x", int, "whole numbers")


def test_durations_are_written_as_people_write_them() -> None:
    assert [seconds_of("--collect", text) for text in ("90s", " 15m", "24h", "7d")] == [90, 900, 86400, 604800]
    for text in ("90", "0s", "1.5h", "-3m", "h"):
        with refused("duration_malformed", InvalidInput, option="--collect"):
            seconds_of("--collect", text)
