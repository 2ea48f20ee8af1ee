"""What earlier weeks of a campaign found: names that are counted again, also where this week's search misses them.

Public, like everything that a week's answer says. In a task it is one text: codes in hexadecimal, ascending, each with
the share of users that it surely had, where it had one: `1f=0.0123,2a0`.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treetop.encoding.bit_strings import Codes, code_array, prefixes_of
from treetop.oracles.frequency_oracle import Frequencies
from treetop.trie.lower_confidence import ScoredCandidates

SEEDS = 200
"""The best names of a week that the next one counts again."""
MAX_SEEDS = 1000
"""That may be given."""
SHARE_DIGITS = 6
"""Decimals of a share in the text of a task."""


@dataclass(frozen=True)
class Seeds:
    """Codes in ascending order, and how many of all users hold each, as a share; 0 where that may be noise."""

    codes: tuple[int, ...] = ()
    shares: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        ascending = all(one < two for one, two in zip(self.codes[:-1], self.codes[1:], strict=True))
        if not ascending or min(self.codes, default=0) < 0 or not len(self.codes) == len(self.shares) <= MAX_SEEDS:
            raise ValueError
        if not all(0 <= share < 1 for share in self.shares):
            raise ValueError

    @classmethod
    def best(cls, prefixes: Codes, bounds: Frequencies, clear: ScoredCandidates, users: int) -> "Seeds":
        """Take those of ascending prefixes with the best bounds; known are the counts of what noise would not show."""
        indices = np.sort(np.argsort(-bounds, kind="stable")[:SEEDS])
        known = np.where(clear.scores[indices] > 0, clear.counts[indices] / users, 0.0)
        shares = np.round(np.minimum(known, 1 - 10.0**-SHARE_DIGITS), SHARE_DIGITS)
        return cls(tuple(prefixes[indices].tolist()), tuple(shares.tolist()))

    @classmethod
    def read(cls, given: Any) -> "Seeds":
        """Read the text of a setting, or raise ValueError."""
        if isinstance(given, Seeds):
            return given
        if not isinstance(given, str):
            raise TypeError
        pairs = [entry.partition("=") for entry in given.split(",") if given]
        codes = tuple(int(code, 16) for code, _, _ in pairs)
        return cls(codes, tuple(float(share) if share else 0.0 for _, _, share in pairs))

    def __str__(self) -> str:
        pairs = zip(self.codes, self.shares, strict=True)
        return ",".join(f"{code:x}={share:.{SHARE_DIGITS}f}" if share else f"{code:x}" for code, share in pairs)

    def __len__(self) -> int:
        return len(self.codes)

    def within(self, bits: int) -> Codes:
        """Return the codes as an array of codes of that length."""
        return code_array(self.codes, bits)

    def fit(self, bits: int) -> bool:
        """Return whether all of them are codes of that length."""
        return not self.codes or self.codes[-1] < 1 << bits

    def shares_below(self, prefixes: Codes, bits: int, length: int) -> Frequencies:
        """Return the known share of users below each of some ascending prefixes."""
        found = np.zeros(len(prefixes) + 1)
        if self.codes and len(prefixes):
            above = prefixes_of(self.within(bits), bits, length)
            indices = np.minimum(np.searchsorted(prefixes, above), len(prefixes) - 1)
            indices[prefixes[indices] != above] = len(prefixes)
            np.add.at(found, indices, self.shares)
        return found[:-1]


NO_SEEDS = Seeds()
"""Of a first week, and of a question that is asked once."""
