"""When two names of an attribute are one: different spellings that look the same.

Letters of another alphabet that only resemble the usual ones stay apart. A device refuses a name that is not its own,
so keeping names apart is the safe side: a look-alike is refused, it does not start a budget.
"""

from unicodedata import category, normalize

_IGNORABLE = (
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
)
"""Fillers, joiners and variation selectors: letters and marks by their category, though nothing is shown for them."""


def normalised(attribute: str) -> str:
    """Return the spelling that is compared: NFKC, no capitals, nothing invisible, single spaces."""
    while (folded := _folded(attribute)) != attribute:
        attribute = folded
    return folded


def _folded(text: str) -> str:
    folded = normalize("NFKC", normalize("NFKC", text).casefold())
    return " ".join("".join(letter for letter in folded if letter.isspace() or _is_visible(letter)).split())


def _is_visible(letter: str) -> bool:
    """Controls, formats, surrogates, private and unassigned characters are not: their categories begin with C."""
    return category(letter)[0] != "C" and not any(first <= ord(letter) <= last for first, last in _IGNORABLE)
