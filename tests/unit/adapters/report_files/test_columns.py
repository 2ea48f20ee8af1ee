"""Batches from devices become files whose reports are those that were sent."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from treetop.adapters.report_files.counting import Candidates, count_file
from treetop.adapters.report_files.sealed_file import ReportFileWriter, ReportKind, batch_columns
from treetop.federation.wire.report_batches import NO_DOMAIN, Envelope, decoded_batch, encoded_batch
from treetop.oracles.hashed_reports import HashedReport
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.oue import OptimizedUnaryEncoding
from treetop.trie.user_groups import Group, Role

KRR, OUE, OLH = KRandomizedResponse(), OptimizedUnaryEncoding(), OptimizedLocalHashing()
TASK, DOMAIN = bytes(range(32)), bytes(range(32, 64))
GROUP = Group(5, Role.VALIDATE_FREQUENT)
CASES: list[tuple[Envelope, list[Any]]] = [
    (Envelope(TASK, GROUP, DOMAIN, KRR, 41), [3, 40, 3]),
    (Envelope(TASK, GROUP, DOMAIN, KRR, 3000), [3, 2999, 256]),
    (Envelope(TASK, GROUP, DOMAIN, OUE, 11), [(True,) + (False,) * 10, (False,) * 10 + (True,)]),
    (Envelope(TASK, Group(5), NO_DOMAIN, OLH, 9), [HashedReport(7, 8), HashedReport(2**32 - 1, 0)]),
    (Envelope(TASK, Group(5), NO_DOMAIN, OLH, 1000), [HashedReport(7, 999), HashedReport(2**31, 256)]),
]


@pytest.mark.parametrize(("envelope", "reports"), CASES, ids=lambda case: getattr(case, "oracle", ""))
def test_what_was_sent_is_what_is_filed(envelope: Envelope, reports: list[Any], tmp_path: Path) -> None:
    batch = decoded_batch(encoded_batch(envelope, reports))
    columns, kind = batch_columns(batch), ReportKind.of(batch.envelope)
    if envelope.oracle == OUE:
        assert [tuple(row[:11]) for row in np.unpackbits(columns[0], axis=1).astype(bool).tolist()] == reports
    else:
        rows = list(zip(*(column.tolist() for column in columns), strict=True))
        assert rows == [tuple(report) if envelope.oracle == OLH else (report,) for report in reports]
    with ReportFileWriter(tmp_path / "a.parquet", kind) as writer:
        writer.append(*columns)
    assert count_file(tmp_path / "a.parquet", Candidates(kind)).reports == len(reports)


def test_a_file_knows_the_group_and_the_candidates_of_its_reports() -> None:
    kind = ReportKind.of(CASES[0][0])
    assert (kind.task, kind.level, kind.role) == (TASK.hex(), 5, "validate frequent")
    assert kind.domain == DOMAIN.hex()
