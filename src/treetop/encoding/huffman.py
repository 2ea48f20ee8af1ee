"""A Huffman code for whole numbers 0 .. n-1, the same on every machine: weights are integers, ties are settled."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class HuffmanCode:
    """The code word of every symbol, and the tree that reads words back."""

    words: tuple[tuple[int, int], ...]
    """For each symbol the word's bits as an integer, and their number."""
    tree: tuple[tuple[int, int], ...] = field(repr=False)
    """Nodes with their two children; node 0 is the root, a child below 0 is the symbol -1 - child."""


def code_lengths(weights: Sequence[int]) -> list[int]:
    """Return the length of every symbol's word: join the two lightest groups until one is left."""
    groups: list[tuple[int, int, tuple[int, ...]]] = [(w, symbol, (symbol,)) for symbol, w in enumerate(weights)]
    heapq.heapify(groups)
    lengths = [0] * len(weights)
    while len(groups) > 1:
        first, second = heapq.heappop(groups), heapq.heappop(groups)
        joined = first[2] + second[2]
        for symbol in joined:
            lengths[symbol] += 1
        heapq.heappush(groups, (first[0] + second[0], min(joined), joined))
    return lengths


def huffman_code(weights: Sequence[int]) -> HuffmanCode:
    """Return the canonical code: shorter words first, then smaller symbols, counting upwards."""
    lengths = code_lengths(weights)
    words: list[tuple[int, int]] = [(0, 0)] * len(weights)
    word, before = 0, 0
    for symbol in sorted(range(len(weights)), key=lambda symbol: (lengths[symbol], symbol)):
        word <<= lengths[symbol] - before
        before = lengths[symbol]
        words[symbol] = (word, before)
        word += 1
    return HuffmanCode(tuple(words), _tree(words))


def _tree(words: Sequence[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    nodes = [[0, 0]]
    for symbol, (word, length) in enumerate(words):
        node = 0
        for place in range(length - 1, 0, -1):
            bit = word >> place & 1
            if not nodes[node][bit]:
                nodes[node][bit] = len(nodes)
                nodes.append([0, 0])
            node = nodes[node][bit]
        nodes[node][word & 1] = -1 - symbol
    return tuple((left, right) for left, right in nodes)
