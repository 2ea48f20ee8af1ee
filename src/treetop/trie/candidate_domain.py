"""The prefixes asked about at a level, and the slot for all others."""

from dataclasses import dataclass

import numpy as np

from treetop.encoding.bit_strings import Codes, extended
from treetop.errors import InvalidInput

MOST_CANDIDATES = 1 << 22


@dataclass(frozen=True, eq=False)
class CandidateDomain:
    """The domain of a level: distinct prefixes of one length in ascending order, and the dummy."""

    length: int
    prefixes: Codes

    def __post_init__(self) -> None:
        if not np.all(self.prefixes[1:] > self.prefixes[:-1]):
            raise InvalidInput("the candidates of a domain must be distinct and in ascending order")

    def __len__(self) -> int:
        """Return the number of candidates, the dummy not counted."""
        return len(self.prefixes)

    @classmethod
    def extending(cls, kept: Codes, from_length: int, to_length: int) -> "CandidateDomain":
        """Construct of Alg. 2: kept x {0, 1}^(l_h - l_{h-1})."""
        step = to_length - from_length
        if len(kept) << step > MOST_CANDIDATES:
            raise InvalidInput(
                f"a step of {step} bits from {len(kept)} prefixes makes {len(kept) << step:,} candidates, "
                f"at most {MOST_CANDIDATES:,} are handled: ask for more levels"
            )
        return cls(to_length, extended(np.sort(kept), step))

    def without(self, pruned: Codes) -> "CandidateDomain":
        """Return the domain with the pruned prefixes left out."""
        return CandidateDomain(self.length, self.prefixes[~np.isin(self.prefixes, pruned)])
