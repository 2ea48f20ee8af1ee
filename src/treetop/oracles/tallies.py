"""What is counted: support for every slot of a domain, out of a number of reports."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Frequencies = NDArray[np.float64]


@dataclass(frozen=True)
class Tally:
    """How many reports support each slot; tallies of disjoint reports add up."""

    support: Counts
    reports: int

    def __add__(self, other: Self) -> Self:
        return type(self)(self.support + other.support, self.reports + other.reports)
