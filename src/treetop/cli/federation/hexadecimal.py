"""Digests and tickets as people hand them over: in hexadecimal digits."""

from treetop.errors import InvalidInput


def digest_of_task(text: str) -> bytes:
    """Return the digest that --task names."""
    return hexadecimal("--task", text, 32)


def hexadecimal(option: str, text: str, length: int) -> bytes:
    """Return so many bytes; what was found instead is not shown, as it may be secret."""
    try:
        found = bytes.fromhex(text)
    except ValueError:
        found = b""
    if len(found) != length:
        raise InvalidInput("option_not_hexadecimal", option=option, length=2 * length)
    return found
