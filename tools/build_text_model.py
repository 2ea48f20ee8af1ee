"""Write the public model of text that text recovery codes with: how often one byte follows another.

Run `python tools/build_text_model.py`: it reads text_model_corpus.txt, which we wrote, composes words, names, titles,
addresses and numbers from it, and writes src/treetop/encoding/public_text_model.json. The same corpus gives the same
bytes; a test holds the shipped file against a fresh one. No data set that Treetop is measured on takes part.
"""

import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from treetop.whole_files import write_whole

HERE = Path(__file__).parent
CORPUS = HERE / "text_model_corpus.txt"
MODEL = HERE.parent / "src" / "treetop" / "encoding" / "public_text_model.json"

SIZE = 24_000
"""Texts that the model is counted on; the words of the corpus themselves come on top, each as it stands."""
END = "end"
WORDS = (
    *("common", "verbs", "verbforms", "nouns", "adjectives", "adverbs", "contracted", "chat", "science", "news"),
    *("places", "names", "names", "brands", "wares", "paths", "french", "german", "spanish", "other", "cyrillic"),
    *("greek", "scripts", "emoji"),
)
Kinds = dict[str, list[str]]
Draw = Callable[[str], str]


class Draws:
    """A small linear congruential generator: the same numbers on every machine and version."""

    def __init__(self, seed: int) -> None:
        self._state = seed

    def below(self, limit: int) -> int:
        """Return the next number from 0 to limit - 1."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self._state >> 33) % limit


def read_corpus() -> Kinds:
    """Return the words of every kind."""
    lines = CORPUS.read_text(encoding="utf-8").splitlines()
    pairs = (line.split(":", 1) for line in lines if line and not line.startswith("#"))
    return {kind: words.split() for kind, words in pairs}


def texts(kinds: Kinds) -> Iterator[str]:
    """Yield every word that stands alone, three times, and composed texts of all shapes in turn."""
    for kind in WORDS:
        for word in kinds[kind]:
            yield from (word, word, word)
    draws = Draws(seed=2024)
    shapes = (_title, _title, _address, _address, _path, _number, _phrase, _product, _inflected, _inflected)
    for place in range(SIZE):
        yield shapes[place % len(shapes)](lambda kind: kinds[kind][draws.below(len(kinds[kind]))], draws)


def _title(word: Draw, draws: Draws) -> str:
    names = (word("names"), word("places"), word("brands"), word("nouns"))
    return " ".join(names[draws.below(4)].capitalize() for _ in range(1 + draws.below(2)))


def _address(word: Draw, draws: Draws) -> str:
    scheme = ("https://", "https://www.", "www.", "")[draws.below(4)]
    site = (word("brands"), word("nouns"), word("wares"))[draws.below(3)]
    path = ("", "/" + word("paths"), "/" + word("paths") + "/" + word("nouns"))[draws.below(3)]
    return scheme + site + word("endings") + path


def _path(word: Draw, draws: Draws) -> str:
    parts = ["", *(word("paths") for _ in range(1 + draws.below(2))), word("nouns")]
    tail = word("tails")
    return "/".join(parts) + tail + (str(draws.below(1000)) if tail.endswith("=") else "")


def _number(word: Draw, draws: Draws) -> str:
    date = f"20{draws.below(30):02}-{1 + draws.below(12):02}-{1 + draws.below(28):02}"
    code = f"{word('brands')[:3].upper()}-{draws.below(10_000)}"
    return (str(draws.below(10 ** (1 + draws.below(7)))), date, code)[draws.below(3)]


def _phrase(word: Draw, draws: Draws) -> str:
    joint = (" ", "-", "_")[draws.below(3)]
    return joint.join((word("adjectives"), word("nouns"), word("adverbs"))[: 2 + draws.below(2)])


def _product(word: Draw, draws: Draws) -> str:
    return f"{word('brands').capitalize()} {word('wares').capitalize()} {word('sizes').capitalize()}{draws.below(10)}"


def _inflected(word: Draw, draws: Draws) -> str:
    ending = ("s", "ed", "ing", "er", "ly", "es", "ness", "ment", "able", "tion", "ity", "ful")[draws.below(12)]
    stem = (word("verbs"), word("nouns"), word("adjectives"))[draws.below(3)]
    return (stem[:-1] if stem.endswith("e") else stem) + ending


def count_pairs(all_texts: Iterator[str]) -> dict[str, dict[str, int]]:
    """Return how often each byte, or the end, follows each byte, or the beginning (which is written as end)."""
    pairs: dict[str, Counter[str]] = {}
    for text in all_texts:
        symbols = [END, *(str(byte) for byte in text.encode("utf-8")), END]
        for before, after in itertools.pairwise(symbols):
            pairs.setdefault(before, Counter())[after] += 1
    return {before: dict(sorted(pairs[before].items(), key=_order)) for before in sorted(pairs, key=_number_of)}


def _order(pair: tuple[str, int]) -> int:
    return _number_of(pair[0])


def _number_of(symbol: str) -> int:
    return 256 if symbol == END else int(symbol)


def model_text() -> str:
    """Return the model as it is shipped: one line for each byte that something follows."""
    lines = [f'"{before}": {json.dumps(after)}' for before, after in count_pairs(texts(read_corpus())).items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    write_whole(MODEL, model_text().encode("utf-8"))
