"""The GPU engine: OLH and walsh reports of files go through the card, one row group after the other."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from treetop.adapters.cupy.olh_support import ResidentReports, SupportCounter
from treetop.adapters.cupy.walsh_spectrum import CardSpectrum
from treetop.adapters.report_files.counting import Candidates, distinct
from treetop.adapters.report_files.sealed_file import ReportFile, refusing
from treetop.errors import InvalidInput
from treetop.oracles.frequency_oracle import Tally
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.walsh import WalshHashing


class CupyEngine:
    """Counts OLH and walsh on one graphics card; the others are limited by reading, which a card does not speed up."""

    def count(self, files: Sequence[Path], candidates: Candidates) -> Tally:
        """Return the tally of all reports in the files; the first damaged file ends the count."""
        oracle = candidates.kind.oracle
        if oracle not in {OptimizedLocalHashing.name, WalshHashing.name}:
            raise InvalidInput("gpu_oracle", oracle=oracle)
        opened = [ReportFile.opened(path, candidates.kind) for path in distinct(files)]
        if oracle == WalshHashing.name:
            return _every_name(opened, candidates)
        if candidates.bits is not None:
            candidates.no_sums(candidates.bits)  # refuses
        counter = SupportCounter(candidates.keys)
        for file in opened:
            for group in range(len(file.groups)):
                seeds, buckets = file.columns(group)
                counter.add(ResidentReports(seeds, buckets, candidates.kind.slots))
        return Tally(counter.counts(), sum(file.reports for file in opened))


def _every_name(opened: Sequence[ReportFile], candidates: Candidates) -> Tally:
    """Count all names of the candidates' bits, and return those that were asked for."""
    bits = candidates.bits
    asked = candidates.keys
    if bits is None:
        bits = max(1, int(asked.max(initial=0)).bit_length())
    spectrum = CardSpectrum(bits, candidates.kind.slots, sum(file.reports for file in opened))
    for file in opened:
        for group in range(len(file.groups)):
            seeds, reported = file.columns(group)
            with refusing(file.path):
                spectrum.add(seeds, reported)
    tally = spectrum.tally()
    return Tally(tally.support[asked].astype(np.int64), tally.reports) if candidates.bits is None else tally
