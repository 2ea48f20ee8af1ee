"""The compiled search over whole codes, the likeliest first.

A beginning of a code waits in a heap under the best score that any code below it could have: its own, that of the best
chunk it has not tried yet, and the highest of every chunk behind that. So whole codes leave the heap by falling score,
and nothing that could still win is ever given up.
"""

from heapq import heappop, heappush
from math import log
from typing import Any

import numpy as np

from treetop.encoding.text_code import CHUNK_BITS, CHUNK_VALUES, END
from treetop.oracles.kernels import compiled

BIT = log(2)
UNTRIED = -1
"""A beginning with no chunk tried behind it; above it the rank of the next one, or 256 and the last chunk of a code."""


@compiled
def read_on(children: Any, symbol: Any, node: Any, chunk: Any) -> Any:
    """Read one chunk more: the symbol before, its node, and whether the text goes on behind it."""
    for bit in range(CHUNK_BITS - 1, -1, -1):
        child = children[symbol, node, (chunk >> bit) & 1]
        if child == -1 - END:
            return symbol, node, False
        if child < 0:
            symbol = -1 - child
            node = 0
        else:
            node = child
    return symbol, node, True


@compiled
def all_ends(children: Any) -> Any:
    """Return the chunks that end a text from every symbol and node, the zeros behind each end, and where they begin."""
    symbols, nodes, _ = children.shape
    starts = np.zeros(symbols * nodes + 1, dtype=np.int64)
    chunks = [0]
    zeros = [0]
    waiting = np.empty((CHUNK_BITS + 1, 4), dtype=np.int64)
    for index in range(symbols * nodes):
        waiting[0, 0], waiting[0, 1], waiting[0, 2], waiting[0, 3] = CHUNK_BITS, 0, index // nodes, index % nodes
        open_ = 1
        while open_:
            open_ -= 1
            left = waiting[open_, 0] - 1
            chunk = waiting[open_, 1]
            symbol = waiting[open_, 2]
            node = waiting[open_, 3]
            for bit in range(2):
                child = children[symbol, node, bit]
                if child == -1 - END:
                    chunks.append((chunk << 1 | bit) << left)
                    zeros.append(left)
                elif left:
                    waiting[open_, 0], waiting[open_, 1] = left, chunk << 1 | bit
                    waiting[open_, 2], waiting[open_, 3] = (symbol, child) if child >= 0 else (-1 - child, 0)
                    open_ += 1
        starts[index + 1] = len(chunks) - 1
    return np.array(chunks)[1:].astype(np.int16), np.array(zeros)[1:].astype(np.int16), starts


@compiled
def write_text(children: Any, code: Any, texts: Any) -> None:
    """Add the bytes of a whole code to the texts."""
    symbol = END
    node = 0
    read = 0
    while True:
        child = children[symbol, node, (code[read // CHUNK_BITS] >> (CHUNK_BITS - 1 - read % CHUNK_BITS)) & 1]
        if child == -1 - END:
            return
        if child < 0:
            symbol = -1 - child
            node = 0
            texts.append(np.uint8(symbol))
        else:
            node = child
        read += 1


@compiled
def likeliest_codes(
    scores: Any, orders: Any, highest: Any, children: Any, ends: Any, zeros: Any, starts: Any, floor: Any, effort: Any
) -> Any:
    """Return the texts of the likeliest codes above a floor, one behind the other, and where each ends.

    The rows of codes of c chunks stand behind those of all shorter ones; `orders` has the chunks of each row by falling
    score. At most `effort` beginnings are looked at. Each has a row: parent, last chunk, length of the whole code, own
    length, symbol and node.
    """
    begun = np.empty((effort + len(highest), 6), dtype=np.int64)
    reached = np.empty(effort + len(highest))
    code = np.empty(len(highest), dtype=np.int64)
    nodes = children.shape[1]
    heap = [(0.0, 0, UNTRIED)]
    texts = [np.uint8(0)]
    stops = [0]
    heap.pop()
    for index in range(len(highest) - 1):
        begun[index, 0], begun[index, 1], begun[index, 2], begun[index, 3] = -1, 0, index + 1, 0
        begun[index, 4], begun[index, 5], reached[index] = END, 0, 0.0
        heappush(heap, (-highest[index + 1, 0], index, UNTRIED))
    looked_at = len(highest) - 1
    while heap and looked_at < effort and heap[0][0] <= -floor:
        _, index, rank = heappop(heap)
        length = begun[index, 2]
        depth = begun[index, 3]
        symbol = begun[index, 4]
        node = begun[index, 5]
        row = length * (length - 1) // 2 + depth
        if rank >= CHUNK_VALUES:  # a whole code
            code[depth] = rank - CHUNK_VALUES
            for before in range(depth - 1, -1, -1):
                code[before], index = begun[index, 1], begun[index, 0]
            write_text(children, code[:length], texts)
            stops.append(len(texts))
            continue
        if depth == length - 1:
            for end in range(starts[symbol * nodes + node], starts[symbol * nodes + node + 1]):
                score = reached[index] + scores[row, ends[end]] + zeros[end] * BIT
                heappush(heap, (-score, index, CHUNK_VALUES + ends[end]))
            continue
        rank += rank == UNTRIED
        chunk = orders[row, rank]
        if rank + 1 < CHUNK_VALUES:
            best = reached[index] + scores[row, orders[row, rank + 1]] + highest[length, depth + 1]
            heappush(heap, (-best, index, rank + 1))
        symbol, node, goes_on = read_on(children, symbol, node, chunk)
        rest = highest[length, depth + 1]
        if depth + 2 == length:  # few chunks end a text, or none does
            rest = -np.inf
            for end in range(starts[symbol * nodes + node], starts[symbol * nodes + node + 1]):
                rest = max(rest, scores[row + 1, ends[end]] + zeros[end] * BIT)
        if goes_on and rest > -np.inf:
            new = looked_at
            begun[new, 0], begun[new, 1], begun[new, 2], begun[new, 3] = index, chunk, length, depth + 1
            begun[new, 4], begun[new, 5], reached[new] = symbol, node, reached[index] + scores[row, chunk]
            heappush(heap, (-reached[new] - rest, new, UNTRIED))
            looked_at += 1
    return np.array(texts)[1:], np.array(stops)[1:] - 1
