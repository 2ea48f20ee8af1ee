"""The prefixes asked about at a level, and the slot for all others."""

from dataclasses import dataclass

import numpy as np

from treetop.encoding.bit_strings import Codes, extended, keys_of
from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import Counts, Keys

MAX_CANDIDATES = 1 << 22


@dataclass(frozen=True, eq=False)
class CandidateDomain:
    """The domain of a level: distinct prefixes of one length in ascending order, and the dummy."""

    length: int
    prefixes: Codes

    def __post_init__(self) -> None:
        if (self.prefixes[1:] <= self.prefixes[:-1]).any():
            raise InvalidInput("domain_unsorted")

    def __len__(self) -> int:
        """Return the number of candidates, the dummy not counted."""
        return len(self.prefixes)

    @classmethod
    def extending(cls, kept: Codes, from_length: int, to_length: int) -> "CandidateDomain":
        """Construct of Alg. 2: kept x {0, 1}^(l_h - l_{h-1})."""
        step = to_length - from_length
        if len(kept) << step > MAX_CANDIDATES:
            raise InvalidInput(
                "step_too_large",
                step=step,
                prefixes=len(kept),
                candidates=len(kept) << step,
                max_candidates=MAX_CANDIDATES,
            )
        return cls(to_length, extended(np.sort(kept), step))

    def without(self, pruned: Codes) -> "CandidateDomain":
        """Return the domain with the pruned prefixes left out."""
        indices = np.searchsorted(self.prefixes, pruned)
        inside = indices < len(self)
        found = indices[inside][self.prefixes[indices[inside]] == pruned[inside]]
        return CandidateDomain(self.length, np.delete(self.prefixes, found))

    def slots_of(self, values: Codes) -> Counts:
        """Return the slot of every value: its candidate's, or the dummy's."""
        slots = np.searchsorted(self.prefixes, values)
        found = self.prefixes[np.minimum(slots, len(self) - 1)] == values if len(self) else np.zeros(len(values), bool)
        return np.where(found, slots, len(self))

    def keys(self, values: Codes) -> Keys:
        """Return what devices hash for values of this length."""
        return keys_of(values)
