"""An address as a QR code in the terminal, so that a phone need not type it (ISO/IEC 18004).

Our own, instead of a library: an address has at most 106 bytes, so that byte mode, correction level L and versions 1 to
5 are enough. These have one block of code words each, which leaves little to write and nothing to lock.
"""

from collections.abc import Callable, Iterator

from treetop.errors import InvalidInput

Matrix = list[list[bool]]

DATA_WORDS = (19, 34, 55, 80, 108)
"""Of versions 1 to 5 at level L."""
CHECK_WORDS = (7, 10, 15, 20, 26)
LEVEL_L = 0b01
QUIET = 2
"""Modules of margin; the standard asks for 4, and readers manage with 2 where the terminal's background goes on."""
MASKS: tuple[Callable[[int, int], bool], ...] = (
    lambda y, x: (y + x) % 2 == 0, lambda y, _: y % 2 == 0, lambda _, x: x % 3 == 0, lambda y, x: (y + x) % 3 == 0,
    lambda y, x: (y // 2 + x // 3) % 2 == 0, lambda y, x: y * x % 2 + y * x % 3 == 0,
    lambda y, x: (y * x % 2 + y * x % 3) % 2 == 0, lambda y, x: ((y + x) % 2 + y * x % 3) % 2 == 0,
)  # fmt: skip


def qr_code(text: str) -> Matrix:
    """Return the dark modules of a text's code: the mask with the fewest patterns that confuse readers."""
    data = text.encode("utf-8")
    version = next((place for place, words in enumerate(DATA_WORDS) if len(data) <= words - 2), None)
    if version is None:
        raise InvalidInput(f"a QR code here holds {DATA_WORDS[-1] - 2} bytes at most, found {len(data)}")
    words = _code_words(data, DATA_WORDS[version], CHECK_WORDS[version])
    return min((_drawn(words, version + 1, mask) for mask in range(len(MASKS))), key=_penalty)


def in_terminal(code: Matrix) -> str:
    """Return a code as lines of half blocks, light on dark or dark on light alike: light modules are drawn."""
    width = len(code) + 2 * QUIET
    edge = [[False] * width] * QUIET
    padded = [*edge, *([False] * QUIET + row + [False] * QUIET for row in code), *edge]
    padded += [[True] * width] * (len(padded) % 2)
    pairs = zip(padded[::2], padded[1::2], strict=True)
    return "\n".join(
        "".join(" ▄▀█"[2 * (not high) + (not low)] for high, low in zip(*pair, strict=True)) for pair in pairs
    )


def _code_words(data: bytes, size: int, checks: int) -> bytes:
    """Return mode, length, data and filling, then the remainder of their polynomial (Reed and Solomon)."""
    head = f"0100{len(data):08b}" + "".join(f"{byte:08b}" for byte in data) + "0000"
    words = int(head, 2).to_bytes(len(head) // 8, "big")
    words += bytes((0xEC, 0x11) * size)[: size - len(words)]
    generator = [1]
    for power in range(checks):
        generator = [a ^ _product(b, _power(power)) for a, b in zip([*generator, 0], [0, *generator], strict=True)]
    left = [*words, *[0] * checks]
    for place in range(size):
        factor = left[place]
        for offset, coefficient in enumerate(generator):
            left[place + offset] ^= _product(coefficient, factor)
    return words + bytes(left[size:])


def _product(a: int, b: int) -> int:
    """Multiply in the field of 256 elements: polynomials modulo x^8 + x^4 + x^3 + x^2 + 1."""
    product = 0
    while b:
        product ^= a * (b & 1)
        a = (a << 1) ^ (0x11D * (a >> 7))
        b >>= 1
    return product


def _power(exponent: int) -> int:
    element = 1
    for _ in range(exponent):
        element = _product(element, 2)
    return element


def _drawn(words: bytes, version: int, mask: int) -> Matrix:
    size = 17 + 4 * version
    fixed = dict(_fixed(version, size)) | dict(_format(size, mask))
    code = [[fixed.get((y, x), False) for x in range(size)] for y in range(size)]
    bits = (bool(word >> bit & 1) for word in words for bit in range(7, -1, -1))
    for y, x in _path(size):
        if (y, x) not in fixed:
            code[y][x] = next(bits, False) ^ MASKS[mask](y, x)
    return code


def _fixed(version: int, size: int) -> Iterator[tuple[tuple[int, int], bool]]:
    """Yield timing lines, finders with their margins, and the alignment mark: what all codes of a version share."""
    for place in range(size):
        yield (6, place), place % 2 == 0
        yield (place, 6), place % 2 == 0
    for top, left in ((0, 0), (0, size - 7), (size - 7, 0)):
        for y in range(-1, 8):
            for x in range(-1, 8):
                if 0 <= top + y < size and 0 <= left + x < size:
                    ring = max(abs(y - 3), abs(x - 3))
                    yield (top + y, left + x), ring not in (2, 4)
    if version > 1:
        for y in range(-2, 3):
            for x in range(-2, 3):
                yield (size - 7 + y, size - 7 + x), max(abs(y), abs(x)) != 1


def _format(size: int, mask: int) -> Iterator[tuple[tuple[int, int], bool]]:
    """Yield the level and the mask, twice, with ten check bits (Bose, Chaudhuri and Hocquenghem)."""
    format_bits = LEVEL_L << 3 | mask
    left = format_bits << 10
    for bit in range(14, 9, -1):
        left ^= (0b10100110111 << (bit - 10)) * (left >> bit & 1)
    bits = (format_bits << 10 | left) ^ 0b101010000010010
    corner = [
        (8, 0),
        (8, 1),
        (8, 2),
        (8, 3),
        (8, 4),
        (8, 5),
        (8, 7),
        (8, 8),
        (7, 8),
        (5, 8),
        (4, 8),
        (3, 8),
        (2, 8),
        (1, 8),
        (0, 8),
    ]
    edges = [(size - 1 - bit, 8) for bit in range(7)] + [(8, size - 8 + bit) for bit in range(8)]
    for place in range(15):
        dark = bool(bits >> (14 - place) & 1)
        yield corner[place], dark
        yield edges[place], dark
    yield (size - 8, 8), True


def _path(size: int) -> Iterator[tuple[int, int]]:
    """Yield the modules in the order of the bits: pairs of columns from the right, upwards, then downwards."""
    upwards = True
    for right in (*range(size - 1, 7, -2), *range(5, 0, -2)):
        for y in range(size - 1, -1, -1) if upwards else range(size):
            yield y, right
            yield y, right - 1
        upwards = not upwards


def _penalty(code: Matrix) -> int:
    """Return how much of a code may confuse a reader: long runs, blocks, what looks like a finder, too much of one."""
    lines = ["".join("#" if dark else "." for dark in line) for line in (*code, *map(list, zip(*code, strict=True)))]
    runs = sum(
        len(run) - 2 for line in lines for run in line.replace("#.", "# .").replace(".#", ". #").split() if len(run) > 4
    )
    size = range(len(code) - 1)
    blocks = sum(3 for y in size for x in size if len({code[y + a][x + b] for a in (0, 1) for b in (0, 1)}) == 1)
    finders = sum(
        40 for line in lines for x in range(len(line) - 10) if line[x : x + 11] in ("#.###.#....", "....#.###.#")
    )
    share = sum(map(sum, code)) * 100 // len(code) ** 2
    return runs + blocks + finders + 10 * (abs(share - 50) // 5)
