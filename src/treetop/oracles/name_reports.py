"""Reports of names, counted: of whole names all at once, and of the chunks of a text behind its name.

Every device draws what kind of report it sends. Whole names are the first kind; the others are chunks, whose values
are reported as further names (`walsh.device.chunk_key`). A store of reports hands them over kind by kind.
"""

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from treetop.encoding.bit_strings import Codes
from treetop.encoding.text_code import CHUNK_VALUES
from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import Columns, Counts, FrequencyOracle, Keys
from treetop.oracles.hashing import chunk_keys
from treetop.oracles.protocol import Oracle


def refuse_listed(oracle: FrequencyOracle[Any]) -> None:
    """Refuse an oracle whose devices answer a list: names are too many for one."""
    if oracle.listed:
        raise InvalidInput("names_need_hashing", name=oracle.name)


def counts_every_name(oracle: Oracle) -> bool:
    """Return whether the support of all names can be read from its reports at once; only then names are discovered."""
    own: Any = oracle.counting.every_name
    return bool(own.__func__ is not FrequencyOracle.every_name.__func__)  # type: ignore[attr-defined]


class CountedNameReports:
    """Run by the party: what the reports of its users say of every name there can be.

    The support of all 2^b names is kept from the first time that it is needed, in as few bytes as it fits: at 24 bits,
    34 MB for fewer than 2^16 reports and 67 MB for more. A party waits with it for all the others.
    """

    def __init__(
        self,
        oracle: FrequencyOracle[Any],
        bits: int,
        kinds: tuple[int, ...],
        reports: Callable[[int], Iterable[Columns]],
    ) -> None:
        """Take how many reports of every kind there are, and who returns those of one kind, in one or many parts."""
        refuse_listed(oracle)
        self._oracle = oracle
        self._bits = bits
        self._kinds = kinds
        self._reports = reports
        self._transformed = False

    @property
    def kinds(self) -> tuple[int, ...]:
        """Return the reports of every kind: whole names first, then every chunk of a text."""
        return self._kinds

    @cached_property
    def _every_name(self) -> NDArray[Any]:
        """Return the support of all names; an oracle that cannot count them refuses."""
        sums = self._oracle.every_name(self._bits, self._oracle.report_slots)
        for columns in self._reports(0):
            sums.add(columns)
        self._transformed = True
        tally = sums.tally()
        support: NDArray[Any] = tally.support.astype(np.min_scalar_type(tally.reports), copy=False)
        return support

    def _support(self, kind: int, keys: Keys) -> Counts:
        support = np.zeros(len(keys), dtype=np.int64)
        for columns in self._reports(kind):
            support += self._oracle.support(columns, self._oracle.report_slots, keys)
        return support

    def support(self, names: Codes) -> Counts:
        """Return how many reports of whole names support each of some."""
        if self._transformed:
            return self._every_name[names].astype(np.int64)
        return self._support(0, names.astype(np.uint64))

    def above(self, least: int, listed: Codes) -> tuple[Codes, Counts]:
        """Return all other names with at least that support by reports of whole names, ascending, and their support."""
        enough = self._every_name >= least
        enough[listed] = False
        names = np.flatnonzero(enough)
        return names.astype(listed.dtype), self._every_name[names].astype(np.int64)

    def chunk_support(self, names: Codes, chunk: int) -> Counts:
        """Return for each name how many reports of a chunk support each of its 256 values behind that name."""
        keys = chunk_keys(names.astype(np.uint64)[:, None], chunk, np.arange(CHUNK_VALUES), self._bits)
        return self._support(1 + chunk, keys.ravel()).reshape(len(names), CHUNK_VALUES)

    def text_support(self, names: Codes, chunks: NDArray[np.uint8]) -> Counts:
        """Return how many reports of all kinds support each of some texts: their names, and their chunks in rows."""
        support = self.support(names)
        for chunk, values in enumerate(chunks.T):
            support += self._support(1 + chunk, chunk_keys(names.astype(np.uint64), chunk, values, self._bits))
        return support
