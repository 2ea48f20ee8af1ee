"""Fonts for the names in a plot: whatever is installed that has their characters, and what to say where nothing has."""

from collections.abc import Iterable, Iterator
from unicodedata import category
from warnings import warn

from matplotlib import font_manager, rcParams

from treetop.errors import TreetopWarning

PREFERRED = (
    "Noto Sans CJK SC", "Noto Sans CJK JP", "Source Han Sans SC", "WenQuanYi Zen Hei", "PingFang SC", "Hiragino Sans",
    "Microsoft YaHei", "SimHei", "Noto Emoji", "Symbola", "Segoe UI Emoji", "Segoe UI Symbol",
)  # fmt: skip
"""Fonts that draw Chinese, Japanese, Korean and emoji well, the best first; any other one that fits comes after."""
MISSING = "▯"
UNSEEN = ("Cf", "Mn")
"""Categories of joiners and variants, which are nothing by themselves."""
NOT_COLOUR = ("color", "colour", "last resort")
"""In the names of fonts that matplotlib cannot draw, or that have a box for everything."""


def drawable(texts: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return texts that can be drawn, and the fonts that do it; a warning says which characters none of them has."""
    texts = list(texts)
    usual = [*rcParams["font.family"]]
    wanted = {letter for text in texts for letter in text if not letter.isspace()}
    wanted -= _letters_of(font_manager.findfont(font_manager.FontProperties(family=usual)))
    families = []
    for name, path in _installed() if wanted else ():
        if found := wanted & _letters_of(path):
            families.append(name)
            wanted -= found
        if not wanted:
            break
    if shown := "".join(sorted(letter for letter in wanted if category(letter) not in UNSEEN)[:10]):
        warn(
            f"no installed font has {shown}: drawn as {MISSING}; Noto Sans CJK and Noto Emoji have most characters",
            TreetopWarning,
            stacklevel=3,
        )
    drawn = {letter: "" if category(letter) in UNSEEN else MISSING for letter in wanted}
    texts = ["".join(drawn.get(letter, letter) for letter in text) for text in texts]
    return texts, [*usual, *families]


def _installed() -> Iterator[tuple[str, str]]:
    """Yield the names and files of all fonts, the preferred ones first."""
    known = {font.name: font.fname for font in font_manager.fontManager.ttflist}
    usable = {name: path for name, path in known.items() if not any(word in name.lower() for word in NOT_COLOUR)}
    yield from ((name, usable[name]) for name in PREFERRED if name in usable)
    yield from ((name, path) for name, path in sorted(usable.items()) if name not in PREFERRED)


def _letters_of(path: str) -> set[str]:
    try:
        return {chr(code) for code in font_manager.get_font(path).get_charmap()}
    except (OSError, RuntimeError):  # a font that cannot be read draws nothing
        return set()
