"""QR codes, read back by a reader that is written as plainly as the standard says it."""

from hashlib import sha256

import pytest

from treetop.cli.federation.qr_code import (
    CHECK_WORDS,
    DATA_WORDS,
    MASKS,
    Matrix,
    _power,
    _product,
    in_terminal,
    qr_code,
)
from treetop.errors import InvalidInput

URL = "https://192.168.1.23:8443/"


def read(code: Matrix) -> str:
    size = len(code)
    version = (size - 17) // 4
    told = int("".join(str(int(code[8][x])) for x in (0, 1, 2, 3, 4)), 2) ^ 0b10101
    again = int("".join(str(int(code[size - 1 - bit][8])) for bit in range(5)), 2) ^ 0b10101
    assert told == again
    assert told >> 3 == 0b01  # level L
    mask = MASKS[told & 7]
    bits = [code[y][x] ^ mask(y, x) for y, x in order(size) if not reserved(y, x, size, version)]
    words = [int("".join(str(int(bit)) for bit in bits[place : place + 8]), 2) for place in range(0, len(bits) - 7, 8)]
    words = words[: DATA_WORDS[version - 1] + CHECK_WORDS[version - 1]]
    for power in range(CHECK_WORDS[version - 1]):  # a code word is a multiple of the generator: it has its roots
        value = 0
        for word in words:
            value = _product(value, _power(power)) ^ word
        assert value == 0
    whole = "".join(f"{word:08b}" for word in words)
    assert whole[:4] == "0100"
    length = int(whole[4:12], 2)
    return bytes(int(whole[12 + 8 * place : 20 + 8 * place], 2) for place in range(length)).decode()


def reserved(y: int, x: int, size: int, version: int) -> bool:
    finder = (y < 9 and x < 9) or (y < 9 and x >= size - 8) or (y >= size - 8 and x < 9)
    aligned = version > 1 and abs(y - (size - 7)) < 3 and abs(x - (size - 7)) < 3
    return finder or aligned or y == 6 or x == 6


def order(size: int) -> list[tuple[int, int]]:
    columns = [right for right in range(size - 1, 0, -2) if right > 6] + [5, 3, 1]
    return [
        (y, x)
        for number, right in enumerate(columns)
        for y in (range(size - 1, -1, -1) if number % 2 == 0 else range(size))
        for x in (right, right - 1)
    ]


@pytest.mark.parametrize(
    "text", ["x", URL, "http://127.0.0.1:8080/", "grüße 😀", *("u" * n for n in (17, 18, 32, 53, 78, 106))]
)
def test_a_code_says_its_text(text: str) -> None:
    assert read(qr_code(text)) == text


def test_codes_are_those_that_other_readers_have_read() -> None:
    """Their modules were compared with those of another encoder, for all versions and masks, and read by a camera's."""
    codes = ("".join(str(int(dark)) for row in qr_code(text) for dark in row) for text in (URL, "x" * 106))
    digests = [sha256(code.encode()).hexdigest() for code in codes]
    assert [digest[:16] for digest in digests] == ["69efdd29797da94d", "0bb91879dc71812d"]


def test_a_text_that_is_too_long_is_refused() -> None:
    with pytest.raises(InvalidInput, match="106 bytes at most, found 107"):
        qr_code("u" * 107)


def test_light_modules_are_drawn_with_a_margin() -> None:
    lines = in_terminal(qr_code(URL)).splitlines()
    assert {len(line) for line in lines} == {25 + 4}
    assert lines[0] == "█" * 29
    assert lines[1].startswith("██ ▄▄▄▄▄ ██")
