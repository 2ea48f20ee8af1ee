"""Users who hold many items: each party's sets as two arrays, never an object for a user."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.oracles.set_reports import HOLDERS, USE_SHARES, SetQuestion


@dataclass(frozen=True, eq=False)
class UserSets:
    """The sets of one party: user u holds items[starts[u] : starts[u + 1]], each once, in ascending order."""

    starts: NDArray[np.int64]
    items: NDArray[np.int32]
    counts: NDArray[np.int64] | NDArray[np.int32] | None = None
    """How often she used each; None: once."""
    question: SetQuestion | None = None
    """The question to them, as soon as it is known."""

    @classmethod
    def grouped(
        cls, users: NDArray[np.int32], number: int, items: NDArray[np.int32], counts: NDArray[np.int64] | None
    ) -> "UserSets":
        """Gather rows by user; rows that repeat a user's item are merged, and their counts added up."""
        from treetop.datasets.set_kernels import gathered  # noqa: PLC0415  numba loads only where there are sets

        starts = np.zeros(number + 1, dtype=np.int64)
        np.cumsum(np.bincount(users, minlength=number), out=starts[1:])
        held = np.empty(len(items), dtype=np.int32)
        used = np.empty(0 if counts is None else len(items), dtype=np.int64)
        gathered(users, items, used if counts is None else counts, starts[:-1].copy(), held, used)
        return cls(starts, held, None if counts is None else used).merged()

    def merged(self) -> "UserSets":
        """Sort every user's items, and merge those that she has twice."""
        from treetop.datasets.set_kernels import merge_repeated, sort_sets  # noqa: PLC0415

        counts = np.empty(0, dtype=np.int64) if self.counts is None else self.counts
        repeated = sort_sets(self.starts, self.items, counts)
        if not repeated:
            return self
        uses = np.ones(len(self.items), dtype=np.int32) if self.counts is None else self.counts
        starts = np.empty_like(self.starts)
        kept = merge_repeated(self.starts, self.items, uses, starts)
        return replace(self, starts=starts, items=self.items[:kept], counts=uses[:kept])

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Return |S| of every user."""
        return np.diff(self.starts)

    def holding(self, entries: NDArray[np.bool_]) -> int:
        """Return the number of users who hold any of some entries."""
        return len(np.unique(self.starts.searchsorted(np.flatnonzero(entries), side="right")))

    def of_users(self, users: NDArray[Any]) -> "UserSets":
        """Return the sets of some users, by number or by a mask, in their order."""
        chosen = np.flatnonzero(users) if users.dtype == np.bool_ else users
        starts = np.concatenate([[0], np.cumsum(self.sizes[chosen])])
        # The entries of a user are consecutive: number all of them, and shift each stretch to where it was.
        entries = np.repeat(self.starts[chosen] - starts[:-1], np.diff(starts)) + np.arange(starts[-1])
        counts = None if self.counts is None else self.counts[entries]
        return replace(self, starts=starts, items=self.items[entries], counts=counts)

    def moved_to(self, indices: NDArray[np.int64]) -> "UserSets":
        """Return the sets over another list of items, in which item i has the index indices[i]."""
        counts = None if self.counts is None else self.counts.copy()
        return replace(self, items=indices.astype(np.int32)[self.items], counts=counts).merged()

    @property
    def weights(self) -> NDArray[np.float64] | None:
        """Return the weight of every entry under the reading; None where it is 1."""
        if self.question is None or (self.question.reading == HOLDERS and self.question.items_per_user > 1):
            return None
        uses = self.counts if self.question.reading == USE_SHARES else None
        if uses is None:
            return np.repeat(1 / np.maximum(self.sizes, 1), self.sizes)
        before = np.concatenate([[0], np.cumsum(uses)])
        shares: NDArray[np.float64] = uses / np.repeat(before[self.starts[1:]] - before[self.starts[:-1]], self.sizes)
        return shares
