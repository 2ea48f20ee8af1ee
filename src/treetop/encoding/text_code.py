"""The public code of texts: an order-1 Huffman code with an end symbol, cut into chunks of 8 bits.

Every byte has a code word after every other byte, so that any byte string can be written. How often one byte follows
another was counted once, on the project's own text (tools/build_text_model.py), and is shipped as data. A text's code
is padded with zeros to whole chunks and repeated until it fills all of them, so that no report is spent on padding. A
code of more chunks is cut: its text can still be searched for by its hash and read back from a word list, but not
recovered from its chunks.
"""

import heapq
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import files
from typing import NamedTuple


@dataclass(frozen=True)
class HuffmanCode:
    """The code word of every symbol, and the tree that reads words back."""

    words: tuple[tuple[int, int], ...]
    """For each symbol the word's bits as an integer, and their number."""

    @cached_property
    def tree(self) -> tuple[tuple[int, int], ...]:
        """Return nodes with their two children; node 0 is the root, a child below 0 is the symbol -1 - child."""
        nodes = [[0, 0]]
        for symbol, (word, length) in enumerate(self.words):
            node = 0
            for index in range(length - 1, 0, -1):
                bit = word >> index & 1
                if not nodes[node][bit]:
                    nodes[node][bit] = len(nodes)
                    nodes.append([0, 0])
                node = nodes[node][bit]
            nodes[node][word & 1] = -1 - symbol
        return tuple((left, right) for left, right in nodes)


def code_lengths(weights: Sequence[int]) -> list[int]:
    """Return the length of every symbol's word: join the two lightest groups until one is left."""
    # (weight, least symbol, node): equal weights are ordered by symbol, so that Python and TypeScript build one code.
    groups = [(weight, symbol, symbol) for symbol, weight in enumerate(weights)]
    heapq.heapify(groups)
    parents = [0] * len(weights)
    while len(groups) > 1:
        first = heapq.heappop(groups)
        second = heapq.heappop(groups)
        parents[first[2]] = parents[second[2]] = len(parents)
        heapq.heappush(groups, (first[0] + second[0], min(first[1], second[1]), len(parents)))
        parents.append(0)
    depths = [0] * len(parents)
    for node in range(len(parents) - 2, -1, -1):  # a parent has a larger number than its children; the root is last
        depths[node] = depths[parents[node]] + 1
    return depths[: len(weights)]


def huffman_code(weights: Sequence[int]) -> HuffmanCode:
    """Return the canonical code: shorter words first, then smaller symbols, counting upwards."""
    lengths = code_lengths(weights)
    words: list[tuple[int, int]] = [(0, 0)] * len(weights)
    word = 0
    before = 0
    for symbol in sorted(range(len(weights)), key=lambda symbol: (lengths[symbol], symbol)):
        word <<= lengths[symbol] - before  # a longer word begins where the last shorter one ended
        before = lengths[symbol]
        words[symbol] = (word, before)
        word += 1
    return HuffmanCode(tuple(words))


CHUNK_BITS = 8
CHUNK_VALUES = 1 << CHUNK_BITS
"""Values that are counted behind a name for every chunk of it."""
DEFAULT_CHUNKS = 12
MAX_CHUNKS = 128
"""The largest setting of `text_chunks`."""
END = 256
"""The symbol after a text's last byte, and what stands before its first."""


class ReadingPlace(NamedTuple):
    """The state of a reader of code bits: the symbol before them, and the node reached in that symbol's tree."""

    before: int = END
    node: int = 0


class ReadChunk(NamedTuple):
    """The result of reading 8 more bits: bytes of the text, the state reached, and whether the text has ended."""

    text: bytes
    place: ReadingPlace
    ended: bool
    sound: bool = True
    """Whether the bits behind the end are zero."""


@cache
def _pairs() -> dict[int, dict[int, int]]:
    text = files("treetop.encoding").joinpath("public_text_model.json").read_text(encoding="utf-8")
    return {
        _symbol(before): {_symbol(after): count for after, count in counts.items()}
        for before, counts in json.loads(text).items()
    }


def _symbol(name: str) -> int:
    return END if name == "end" else int(name)


@cache
def _alone() -> list[int]:
    """Return how often each symbol occurs at all, one added to each so that any can be written."""
    totals = [1] * (END + 1)
    for counts in _pairs().values():
        for after, count in counts.items():
            totals[after] += count
    return totals


@cache
def code_after(before: int) -> HuffmanCode:
    """Return the code of what follows a symbol: counted successors, blended with all symbols (Witten and Bell)."""
    if before not in _pairs():
        return _code_of_unseen()  # one object for all of them
    counts = _pairs()[before]
    alone = _alone()
    everything = sum(alone)
    # Witten-Bell: (count + T alone / everything) / (n + T) with T distinct successors, times (n + T) everything. The
    # weights are integers, so that every implementation builds the same code.
    return huffman_code([counts.get(after, 0) * everything + len(counts) * alone[after] for after in range(END + 1)])


@cache
def _code_of_unseen() -> HuffmanCode:
    """Return the code of what follows any symbol that nothing was counted behind."""
    return huffman_code(_alone())


@cache
def _words() -> tuple[tuple[tuple[int, int], ...], ...]:
    """Return the words after every symbol.

    All are built together. Built one by one, when a text first needs them, their time would show how many distinct
    symbols it has.
    """
    return tuple(code_after(before).words for before in range(END + 1))


def code_bits(text: bytes, most_symbols: int | None = None) -> tuple[int, int]:
    """Return a text's code as an integer, and its number of bits; or those of its first symbols."""
    words = _words()
    code = 0
    length = 0
    before = END
    for symbol in (*text[:most_symbols], END)[:most_symbols]:
        word, bits = words[before][symbol]
        code = code << bits | word
        length = length + bits
        before = symbol
    return code, length


def chunks_of(text: bytes, chunks: int = DEFAULT_CHUNKS) -> bytes:
    """Run by the device: its text's code as that number of bytes, repeated from its beginning or cut.

    Every word has at least one bit, so 8 symbols for each chunk fill all of them. No more of a text is read, and the
    time does not grow with how rare its symbols are.
    """
    code, length = code_bits(text, max(chunks, 1) * CHUNK_BITS)
    taken = -(-length // CHUNK_BITS)
    return _repeated((code << taken * CHUNK_BITS - length).to_bytes(taken, "big"), chunks)


def _repeated(code: bytes, chunks: int) -> bytes:
    return (code * -(-chunks // len(code)))[:chunks]


@cache
def read_chunk(place: ReadingPlace, chunk: int) -> ReadChunk:
    """Read 8 bits of a code from the state that the bits before them led to."""
    before, node = place
    text = bytearray()
    for bit in range(CHUNK_BITS - 1, -1, -1):
        child = code_after(before).tree[node][chunk >> bit & 1]
        if child == -1 - END:
            sound = chunk & ((1 << bit) - 1) == 0
            return ReadChunk(bytes(text), ReadingPlace(), True, sound)
        if child < 0:
            text.append(-1 - child)
            before = -1 - child
            node = 0
        else:
            node = child
    return ReadChunk(bytes(text), ReadingPlace(before, node), False)


def text_of(chunks: bytes) -> bytes | None:
    """Return the text whose code the chunks are, or None where they are the code of none."""
    text = b""
    place = ReadingPlace()
    for index, chunk in enumerate(chunks):
        read = read_chunk(place, chunk)
        text = text + read.text
        place = read.place
        if read.ended:
            return text if read.sound and _repeated(chunks[: index + 1], len(chunks)) == chunks else None
    return None
