"""Run by a party: what its reports say of names, as counts of users."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from treetop.encoding.bit_strings import Codes
from treetop.encoding.text_code import CHUNK_VALUES
from treetop.mechanisms.dialogue import NameReports
from treetop.mechanisms.panorama.discovery import ConspicuousNames
from treetop.mechanisms.panorama.texts import ChunkCounts, Rows
from treetop.oracles.frequency_oracle import Counts, Frequencies, FrequencyOracle, Tally
from treetop.trie.significance import normal_scores
from treetop.trie.support import Support


@dataclass(frozen=True, eq=False)
class SurveyedNames:
    """Reports through an oracle for lists: they speak of the names on one, and of "none of these", alone."""

    listed: Codes
    """Ascending."""
    tally: Tally

    @property
    def kinds(self) -> tuple[int, ...]:
        """Return the reports, all of whole names."""
        return (self.tally.reports,)

    def support(self, names: Codes) -> Counts:
        """Return how many reports support each of some names; any that is not listed is "none of these"."""
        places = np.searchsorted(self.listed, names)
        return self.tally.support[places].astype(np.int64)

    def above(self, least: int, listed: Codes) -> tuple[Codes, Counts]:  # noqa: ARG002
        """Return no other names: nobody reports any."""
        return listed[:0], np.empty(0, dtype=np.int64)

    def chunk_support(self, names: Codes, chunk: int) -> Counts:  # noqa: ARG002
        """Return no support: nobody reports a chunk."""
        return np.zeros((len(names), CHUNK_VALUES), dtype=np.int64)

    def text_support(self, names: Codes, chunks: Rows) -> Counts:  # noqa: ARG002
        """Return the support of the names: there are no chunks."""
        return self.support(names)


@dataclass(frozen=True, eq=False)
class NameCounts:
    """The reports of one party, and how they are counted."""

    bits: int
    users: int
    oracle: FrequencyOracle[Any]
    reports: NameReports

    def _counted(self, names: Codes, support: Counts, reports: int) -> Support:
        return Support(self.bits, names, support, reports, self.oracle, self.users)

    def by_names(self, names: Codes) -> Support:
        """Count by the reports of whole names."""
        return self._counted(names, self.reports.support(names), self.reports.kinds[0])

    def by_all(self, names: Codes, chunks: Rows) -> Support:
        """Count by the reports of all kinds: the texts are known."""
        return self._counted(names, self.reports.text_support(names, chunks), sum(self.reports.kinds))

    def conspicuous(self, tau: float, taken: Codes) -> ConspicuousNames:
        """Return the names that lie far above the noise, but for those that are counted anyway.

        Scores are those of `normal_scores`: among few reports a normal bound would let through every name.
        """
        reports = self.reports.kinds[0]
        number = np.array([float(max(reports, 1))])

        def scores(support: Counts) -> Frequencies:
            return normal_scores(support, number, self.oracle.q)

        low, high = 0, reports + 1  # the least support whose score reaches tau; more than all where none does
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if scores(np.array([middle]))[0] >= tau else (middle + 1, high)
        if low > reports:
            return ConspicuousNames.none(self.bits)
        names, support = self.reports.above(low, taken)
        return ConspicuousNames.of(names, scores(support), tau, 1 << self.bits)

    def chunks(self, names: Codes) -> ChunkCounts:
        """Count every value of every chunk behind some names."""
        counted = (
            self._counted(names, self.reports.chunk_support(names, chunk).ravel(), reports)
            for chunk, reports in enumerate(self.reports.kinds[1:])
        )
        return ChunkCounts(tuple(each.quantised() for each in counted))
