"""The GPU engine: OLH reports of files go through the card, one row group after the other."""

from collections.abc import Sequence
from pathlib import Path

from treetop.adapters.cupy.olh_support import ResidentReports, SupportCounter
from treetop.adapters.report_files.counting import Candidates, distinct
from treetop.adapters.report_files.reader import ReportFile
from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import Tally
from treetop.oracles.olh.counting import HashCounting


class CupyEngine:
    """Counts OLH on one graphics card; the other oracles are limited by reading, which a card does not speed up."""

    def count(self, files: Sequence[Path], candidates: Candidates) -> Tally:
        """Return the tally of all reports in the files; the first damaged file ends the count."""
        if not issubclass(candidates.kind.counting, HashCounting):
            raise InvalidInput(f"the gpu engine counts olh alone, found {candidates.kind.oracle}: use embedded")
        opened = [ReportFile.opened(path, candidates.kind) for path in distinct(files)]
        counter = SupportCounter(candidates.keys)
        for file in opened:
            for group in range(len(file.groups)):
                seeds, buckets = file.columns(group)
                counter.add(ResidentReports(seeds, buckets, candidates.kind.slots))
        return Tally(counter.counts(), sum(file.reports for file in opened))
