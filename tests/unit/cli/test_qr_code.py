from segno import make_qr

from treetop.cli.federation.up import qr_lines

URL = "https://192.168.1.23:8443/"


def test_light_modules_are_drawn_with_a_margin() -> None:
    lines = qr_lines(URL)
    matrix = [bytes([0] * 29)] * 2 + [bytes([0, 0, *row, 0, 0]) for row in make_qr(URL, error="l").matrix]
    assert {len(line) for line in lines} == {25 + 4}
    for number, line in enumerate(lines[:13]):
        pairs = zip(matrix[2 * number], matrix[2 * number + 1], strict=True)
        assert line == "".join(" ▄▀█"[2 * (not high) + (not low)] for high, low in pairs)
