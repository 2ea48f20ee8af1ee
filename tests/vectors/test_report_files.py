"""Files that earlier versions wrote are counted the same by every later one, and the damaged ones refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from treetop.adapters.report_files.counting import Candidates, count_file
from treetop.adapters.report_files.sealed_file import ReportKind
from treetop.errors import ReportFileRefused

HERE = Path(__file__).parent
VECTORS = json.loads((HERE / "report_files.json").read_text())
KEYS = np.array(VECTORS["keys"], dtype=np.uint64)


@pytest.mark.parametrize("name", VECTORS["good"])
def test_good_files_have_their_tallies(name: str) -> None:
    vector = VECTORS["good"][name]
    kind = ReportKind(**vector["kind"])
    keys = KEYS[:0] if kind.counting.listed else KEYS
    tally = count_file(HERE / "report_files" / vector["file"], Candidates(kind, keys))
    assert (tally.reports, tally.support.tolist()) == (vector["reports"], vector["support"])


@pytest.mark.parametrize("name", VECTORS["bad"])
def test_bad_files_are_refused(name: str) -> None:
    kind = ReportKind(**VECTORS["good"]["olh"]["kind"])
    with pytest.raises(ReportFileRefused) as refusal:
        count_file(HERE / "report_files" / f"{name}.parquet", Candidates(kind, KEYS))
    assert VECTORS["bad"][name] in refusal.value.reason
