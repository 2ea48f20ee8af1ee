"""Numbers in few bits, as parties send them: in unary where most are small, the rest as they are.

A number is so many ones and a zero. Where numbers have a greatest one, it needs no zero: so many ones in a row can be
nothing else.
"""

import numpy as np
from numpy.typing import NDArray

from treetop.oracles.frequency_oracle import Counts

Bits = NDArray[np.uint8]
UNBOUNDED = 1 << 62


def unary(numbers: Counts, greatest: int = UNBOUNDED) -> Bits:
    """Return numbers up to the greatest one in unary, one after the other."""
    ends = numbers < greatest
    bits = np.ones(int(numbers.sum() + np.count_nonzero(ends)), dtype=np.uint8)
    bits[((numbers + ends).cumsum() - 1)[ends]] = 0
    return bits


def read_unary(bits: Bits, count: int, greatest: int = UNBOUNDED) -> tuple[Counts, Bits]:
    """Return so many numbers, and the bits behind them; where there are too few bits, fewer numbers."""
    zeros = np.append(np.flatnonzero(bits == 0), len(bits))
    starts = np.append(0, zeros[:-1] + 1)
    greatest_ones, last = np.divmod(zeros - starts, greatest)
    in_all = (greatest_ones + 1).cumsum()
    index = min(int(in_all.searchsorted(count)), len(in_all) - 1) if count else 0
    numbers = np.full(in_all[index], greatest, dtype=np.int64)
    numbers[in_all[: index + 1] - 1] = last[: index + 1]
    beyond = int(in_all[index]) - count  # the last run went on with numbers that are not asked for
    end = starts[index] + greatest * (int(greatest_ones[index]) + 1 - beyond) if beyond > 0 else zeros[index] + 1
    return numbers[:count], bits[end:]


def plain(numbers: Counts, width: int) -> Bits:
    """Return numbers in so many bits each, the highest one first."""
    bits: NDArray[np.int64] = (numbers[:, None] >> np.arange(width)[::-1]) & 1
    return bits.astype(np.uint8).ravel()


def read_plain(bits: Bits, count: int, width: int) -> tuple[Counts, Bits]:
    """Return so many numbers of so many bits, and the bits behind them; where there are too few bits, fewer numbers."""
    count = min(count, len(bits) // width) if width else count
    rows = bits[: count * width].reshape(count, width).astype(np.int64)
    return rows @ (1 << np.arange(width, dtype=np.int64)[::-1]), bits[count * width :]


def packed(*parts: Bits) -> bytes:
    """Return bits as bytes, filled up with zeros."""
    return np.packbits(np.concatenate(parts)).tobytes()


def unpacked(data: bytes) -> Bits:
    """Return the bits of bytes."""
    return np.unpackbits(np.frombuffer(data, dtype=np.uint8))
