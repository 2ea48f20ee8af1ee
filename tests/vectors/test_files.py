"""Every committed file is what the script writes, and can be read by every language."""

import json
from pathlib import Path

import pytest
from tests.vectors.generate import FILES, text_of

HERE = Path(__file__).parent
LARGEST_DOUBLE_INTEGER = (1 << 53) - 1
EVERY_FILE = sorted(HERE.glob("*.json"))


@pytest.mark.parametrize("name", FILES)
def test_the_committed_file_is_what_the_script_writes(name: str) -> None:
    assert (HERE / name).read_text() == text_of(name)


def refused_number(digits: str) -> int:
    if abs(int(digits)) > LARGEST_DOUBLE_INTEGER:
        raise ValueError(f"{digits} is above 2^53 - 1: write it as a text")
    return int(digits)


def refused_decimal(digits: str) -> float:
    if abs(float(digits)) > LARGEST_DOUBLE_INTEGER:
        raise ValueError(f"{digits} is above 2^53 - 1: write it as a text")
    return float(digits)


@pytest.mark.parametrize("path", EVERY_FILE, ids=lambda path: path.name)
def test_no_number_is_too_large_for_languages_that_read_doubles(path: Path) -> None:
    json.loads(path.read_text(), parse_int=refused_number, parse_float=refused_decimal)


@pytest.mark.parametrize("number", ["9007199254740992", "18446744073709551615", "-9007199254740992", "1e19"])
def test_the_reader_refuses_what_it_should(number: str) -> None:
    with pytest.raises(ValueError, match="write it as a text"):
        json.loads(f'{{"key": [{number}]}}', parse_int=refused_number, parse_float=refused_decimal)
    json.loads(f"[{LARGEST_DOUBLE_INTEGER}, 2.5]", parse_int=refused_number, parse_float=refused_decimal)
