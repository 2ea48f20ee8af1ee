"""Normalise texts on request, so that `Café ` and `café` are one item: before anything is hashed or looked up.

Items and lists go through the same steps, in the same order however they are named. The result is a fixed point:
normalising it again changes nothing.
"""

from collections.abc import Collection, Iterable
from unicodedata import normalize

from treetop.errors import UnknownName

NFC = "nfc"
CASEFOLD = "casefold"
TRIM = "trim"
STEPS = (NFC, CASEFOLD, TRIM)
WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The characters that Unicode calls White_Space; Python and JavaScript strip different sets."""


def steps_named(asked: str | Iterable[str]) -> tuple[str, ...]:
    """Return the steps of `nfc,casefold,trim` or of such names, each once and in the order in which they are taken."""
    names = [name.strip() for name in (asked.split(",") if isinstance(asked, str) else asked)]
    for name in names:
        if name not in STEPS:
            raise UnknownName("step of normalisation", name, STEPS)
    return tuple(step for step in STEPS if step in names)


def normalised(text: str, steps: Collection[str]) -> str:
    """Run by the device: its item after these steps; a text of white space alone stays as it is.

    `nfc` composes letters and their accents, `casefold` ignores case (ß is ss), `trim` takes white space off both ends.
    Folding a composed letter may leave it decomposed, so with both steps letters are taken apart, folded and composed.
    """
    if CASEFOLD in steps:
        text = (normalize("NFD", text) if NFC in steps else text).casefold()
    if NFC in steps:
        text = normalize("NFC", text)
    if TRIM in steps:
        text = text.strip(WHITE_SPACE) or text
    return text
