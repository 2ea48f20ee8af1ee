from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treetop.errors import PeerViolation, ReportRefused
from treetop.federation.wire.report_batches import (
    MAX_REPORTS,
    NO_DOMAIN,
    Batch,
    Envelope,
    decoded_batch,
    encoded_batch,
)
from treetop.oracles.hashed_reports import HashedReport
from treetop.oracles.krr import KRandomizedResponse
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.oue import OptimizedUnaryEncoding
from treetop.trie.user_groups import Group, Role

TASK, DOMAIN = bytes(range(32)), bytes(range(100, 132))
KRR = Envelope(TASK, Group(3, Role.VALIDATE_FREQUENT), DOMAIN, KRandomizedResponse(), 300)
OUE = Envelope(TASK, Group(1), DOMAIN, OptimizedUnaryEncoding(), 11)
OLH = Envelope(TASK, Group(24), NO_DOMAIN, OptimizedLocalHashing(), 9)
HEAD = 77
GOOD: list[tuple[Envelope, list[Any]]] = [
    (KRR, [0, 299, 17]),
    (OUE, [(True,) * 11, (False,) * 11, (True, False) * 5 + (True,)]),
    (OLH, [HashedReport(2**32 - 1, 8), HashedReport(0, 0)]),
]


@pytest.mark.parametrize(("envelope", "reports"), GOOD)
def test_a_batch_is_read_back(envelope: Envelope, reports: list[Any]) -> None:
    batch = decoded_batch(encoded_batch(envelope, reports))
    assert batch.envelope == envelope
    assert batch.reports() == reports


@pytest.mark.parametrize(
    ("envelope", "body"),
    [
        (KRR, b"\x01\x2c"), (KRR, b"\xff\xff"), (KRR, b"\x01"), (KRR, b""), (KRR, b"\0\0\0"),
        (OUE, b"\0\1"), (OUE, b"\xff\xff"), (OUE, b"\0"), (OUE, b"\0\x10"),
        (OLH, b"\0\0\0\0\x09"), (OLH, b"\0\0\0\0\xff"), (OLH, b"\0\0\0\0"), (OLH, b"\0\0\0\0\0\0"),
    ],
)  # fmt: skip
def test_a_malformed_body_is_one_report_refused(envelope: Envelope, body: bytes) -> None:
    with pytest.raises(ReportRefused) as refused:
        envelope.face.checked(body)
    assert refused.value.expected != refused.value.found


def altered(data: bytes, place: int, *new: int) -> bytes:
    return data[:place] + bytes(new) + data[place + len(new) :]


KRR_BYTES, OLH_BYTES = encoded_batch(KRR, [5]), encoded_batch(OLH, [HashedReport(1, 1)])


@pytest.mark.parametrize(
    "data",
    [
        b"", KRR_BYTES[:HEAD], KRR_BYTES[: HEAD - 1], KRR_BYTES[:-1], KRR_BYTES + b"\0",
        altered(KRR_BYTES, 0, 0), altered(KRR_BYTES, 0, 2), altered(KRR_BYTES, 33, 0, 0), altered(KRR_BYTES, 35, 3),
        altered(KRR_BYTES, 68, 0), altered(KRR_BYTES, 68, 4), altered(KRR_BYTES, 69, 0, 0, 0, 1),
        altered(KRR_BYTES, 69, 0, 0, 0, 0), altered(KRR_BYTES, 69, 255), altered(KRR_BYTES, 73, 0, 0, 0, 0),
        altered(KRR_BYTES, 73, 0, 0, 0, 2), altered(KRR_BYTES, 73, 255, 255, 255, 255),
        altered(KRR_BYTES, 36, *NO_DOMAIN), altered(OLH_BYTES, 36, 1),
        altered(OLH_BYTES, 69, 0, 1, 0, 1),
    ],
)  # fmt: skip
def test_a_broken_envelope_refuses_the_batch(data: bytes) -> None:
    with pytest.raises(PeerViolation):
        decoded_batch(data)


def test_a_batch_has_a_largest_size() -> None:
    with pytest.raises(PeerViolation, match="reports"):
        decoded_batch(encoded_batch(replace(KRR, slots=2), [0] * (MAX_REPORTS + 1)))


@given(st.binary(max_size=200) | st.builds(altered, st.just(OLH_BYTES), st.integers(0, 81), st.integers(0, 255)))
def test_no_bytes_break_the_decoder(data: bytes) -> None:
    try:
        batch = decoded_batch(data)
        assert encoded_batch(batch.envelope, batch.reports()) == data
    except (PeerViolation, ReportRefused):
        pass


def test_one_bad_body_does_not_hide_the_others() -> None:
    batch = Batch(KRR, (b"\0\1", b"\xff\xff", b"\0\2"))
    with pytest.raises(ReportRefused):
        batch.reports()
    assert [KRR.face.checked(body) for body in batch.bodies[::2]] == [1, 2]


@given(st.lists(st.integers(0, 299), min_size=2, max_size=30), st.data())
def test_splitting_and_joining_batches_changes_no_report(reports: list[int], data: st.DataObject) -> None:
    """S9: the same reports, however they travel."""
    cut = data.draw(st.integers(1, len(reports) - 1))
    parts = [decoded_batch(encoded_batch(KRR, part)) for part in (reports[:cut], reports[cut:])]
    assert [report for part in parts for report in part.reports()] == reports
    assert decoded_batch(encoded_batch(KRR, reports)).bodies == parts[0].bodies + parts[1].bodies
