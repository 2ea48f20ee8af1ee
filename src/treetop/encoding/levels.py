"""The prefix length of every level of a trie."""

from treetop.errors import InvalidInput


def _ceiling(numerator: int, denominator: int) -> int:
    return -(-numerator // denominator)


def level_lengths(bits: int, levels: int) -> tuple[int, ...]:
    """Return l_0 .. l_g with l_h = ceil(h m / g); level 0 is the empty prefix."""
    return level_lengths_from(0, bits, levels)


def level_lengths_from(start: int, bits: int, levels: int) -> tuple[int, ...]:
    """Return l_0 .. l_g with l_h = s_0 + ceil(h (m - s_0) / g), as PEM grows its trie from s_0 bits."""
    if not 1 <= levels <= bits:
        raise InvalidInput(f"levels must be from 1 to the {bits} bits of a code, found {levels}")
    return tuple(start + _ceiling(h * (bits - start), levels) for h in range(levels + 1))


def starting_bits(k: int) -> int:
    """Return s_0 = ceil(log2 k), the length at which PEM starts."""
    return (k - 1).bit_length()
