"""The quick way of admission equals a naive twin: every rule in turn, written down again here."""

from hashlib import sha256

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.clocks import NOW
from tests.support.parties import KEY, NAME, task

from treetop.errors import PeerViolation, ReportRefused
from treetop.federation.device.group_assignment import Enrolment, assigned_group
from treetop.federation.party.admission import TaskAdmission
from treetop.federation.task import DeviceTask
from treetop.federation.wire.report_batches import NO_DOMAIN, Envelope, decoded_batch, encoded_batch
from treetop.federation.wire.signed_documents import Publication, PublishedList, Question
from treetop.federation.wire.uploads import ReportStatus, TicketedReport, TicketKey, encoded_upload
from treetop.oracles.olh import OptimizedLocalHashing
from treetop.oracles.registry import ORACLES
from treetop.trie.user_groups import Group, Role

ONE_SHOT, ROUNDS = task("olh"), task("listed")
OLH = OptimizedLocalHashing()
BEACON = b"a beacon"
ENROLLED = tuple(serial for serial in range(40) if serial % 3)
LISTS = {
    Group(1): Question(ROUNDS.digest, Group(1), 2, (0, 1, 2, 3)),
    Group(2): Question(ROUNDS.digest, Group(2), 4, tuple(range(16))),
}  # fmt: skip
FORGER = TicketKey(b"f" * 32)


def gate(of: DeviceTask) -> TaskAdmission:
    admission = TaskAdmission(of, NAME, KEY)
    if not of.one_shot:
        admission.assign(iter(ENROLLED), BEACON)
        for question in LISTS.values():
            admission.open_list(PublishedList(NAME, question, Publication(0, (0,))))
    return admission


GATES = {of.digest: gate(of) for of in (ONE_SHOT, ROUNDS)}


def twin(of: DeviceTask, entry: TicketedReport, now: int) -> ReportStatus | None:
    """Each rule as the page says it, with nothing prepared."""
    try:
        batch = decoded_batch(entry.batch)
    except PeerViolation:
        return ReportStatus.MALFORMED
    envelope, serial = batch.envelope, int.from_bytes(entry.ticket[:8], "big")
    rules = [
        (ReportStatus.MALFORMED, len(batch.bodies) == 1),
        (ReportStatus.UNKNOWN_TASK, envelope.task == of.digest),
        (ReportStatus.TICKET_FORGED, KEY.write(of.digest, serial).to_bytes() == entry.ticket),
        (ReportStatus.TOO_EARLY, now >= of.deadlines.opens - 300),
        (ReportStatus.TOO_LATE, now <= of.deadlines.reports + 300),
        *(_one_shot(of, envelope) if of.one_shot else _rounds(of, envelope, serial)),
        (ReportStatus.MALFORMED, _reads(envelope, batch.bodies[0])),
    ]
    return next((verdict for verdict, kept in rules if not kept), None)


def _one_shot(of: DeviceTask, envelope: Envelope) -> list[tuple[ReportStatus, bool]]:
    known = envelope.group in [entry.group for entry in of.groups]
    right = envelope == Envelope(of.digest, envelope.group, NO_DOMAIN, OLH, of.unlisted_face.slots)
    return [(ReportStatus.WRONG_GROUP, known), (ReportStatus.WRONG_LIST, right)]


def _rounds(of: DeviceTask, envelope: Envelope, serial: int) -> list[tuple[ReportStatus, bool]]:
    own = assigned_group(of, Enrolment((serial % 2**64).to_bytes(8, "big"), BEACON, NAME))
    question = LISTS.get(envelope.group)
    digest, slots = (question.digest, question.slots) if question else (b"", 2)
    right = envelope == Envelope(of.digest, envelope.group, digest, of.oracle_for(slots), slots)
    return [
        (ReportStatus.NOT_ENROLLED, serial in ENROLLED),
        (ReportStatus.WRONG_GROUP, envelope.group == own),
        (ReportStatus.LEVEL_NOT_OPEN, question is not None),
        (ReportStatus.WRONG_LIST, right),
    ]


def _reads(envelope: Envelope, body: bytes) -> bool:
    try:
        envelope.oracle.form(envelope.slots).checked(body)
    except ReportRefused:
        return False
    return True


@st.composite
def entries(draw: st.DrawFn, of: DeviceTask) -> TicketedReport:
    """Mostly honest reports, each with at most a few things wrong."""
    serial = draw(st.integers(0, 45) | st.sampled_from([2**40, 2**63, 2**64 - 1]))
    own = (
        assigned_group(of, Enrolment(serial.to_bytes(8, "big"), BEACON, NAME))
        if not of.one_shot
        else draw(st.sampled_from([entry.group for entry in of.groups]))
    )
    group = draw(st.just(own) | st.just(own) | st.builds(Group, st.integers(1, 4), st.sampled_from(Role)))
    envelope = _envelope(of, group)
    task_digest = draw(st.sampled_from([of.digest] * 6 + [sha256(b"").digest()]))
    slots = draw(st.just(envelope.slots) | st.just(envelope.slots) | st.integers(2, 300))
    oracle = draw(st.sampled_from([envelope.oracle] * 4 + list(ORACLES.values())))
    domain = draw(st.sampled_from([envelope.domain] * 4 + [NO_DOMAIN, sha256(b"x").digest()]))
    fitting = slots if oracle.has_slots(slots) else 2
    width = oracle.form(fitting).width
    body = draw(st.binary(min_size=width, max_size=width)) if draw(st.booleans()) else bytes(width)
    head = encoded_batch(Envelope(task_digest, group, domain, oracle, fitting), [])
    batch = head[:-8] + slots.to_bytes(4, "big") + draw(st.sampled_from([1] * 9 + [0, 2])).to_bytes(4, "big") + body
    ticket = draw(st.sampled_from([KEY] * 6 + [FORGER])).write(of.digest, serial).to_bytes()
    return draw(_mutated(TicketedReport(ticket, batch)))


def _envelope(of: DeviceTask, group: Group) -> Envelope:
    if of.one_shot:
        return Envelope(of.digest, group, NO_DOMAIN, OLH, of.unlisted_face.slots)
    question = LISTS.get(group, LISTS[Group(1)])
    return Envelope(of.digest, group, question.digest, of.oracle_for(question.slots), question.slots)


def _mutated(entry: TicketedReport) -> st.SearchStrategy[TicketedReport]:
    flipped = st.tuples(st.integers(0, len(entry.batch) - 1), st.integers(1, 255)).map(
        lambda at: TicketedReport(entry.ticket, _flip(entry.batch, *at))
    )
    other_ticket = st.tuples(st.integers(0, 23), st.integers(1, 255)).map(
        lambda at: TicketedReport(_flip(entry.ticket, *at), entry.batch)
    )
    shorter = st.integers(0, len(entry.batch)).map(lambda end: TicketedReport(entry.ticket, entry.batch[:end]))
    longer = st.binary(max_size=9).map(lambda more: TicketedReport(entry.ticket, entry.batch + more))
    return st.just(entry) | st.just(entry) | flipped | other_ticket | shorter | longer


def _flip(data: bytes, place: int, bits: int) -> bytes:
    return data[:place] + bytes([data[place] ^ bits]) + data[place + 1 :]


TIMES = st.sampled_from([NOW] * 5 + [NOW - 1301, NOW - 1300, NOW + 10_300, NOW + 10_301])


@settings(max_examples=400, deadline=None)
@given(st.data(), st.sampled_from([ONE_SHOT, ROUNDS]), TIMES)
def test_the_quick_way_equals_the_naive_twin(data: st.DataObject, of: DeviceTask, now: int) -> None:
    upload = data.draw(st.lists(entries(of), min_size=1, max_size=6))
    found = GATES[of.digest].screened(encoded_upload(upload), now)
    expected = [twin(of, entry, now) for entry in upload]
    assert found.verdicts == expected
    admitted = [entry for entry, verdict in zip(upload, expected, strict=True) if verdict is None]
    assert [(report.serial, report.body) for report in found.admitted] == [
        (int.from_bytes(entry.ticket[:8], "big"), decoded_batch(entry.batch).bodies[0]) for entry in admitted
    ]
    assert [report.group for report in found.admitted] == [decoded_batch(e.batch).envelope.group for e in admitted]
    answers = [ReportStatus.ACCEPTED] * len(admitted)
    assert found.answered(answers) == [verdict or ReportStatus.ACCEPTED for verdict in expected]


@given(st.data(), st.sampled_from([ONE_SHOT, ROUNDS]))
@settings(max_examples=300, deadline=None)
def test_honest_reports_are_admitted_and_nothing_else_of_the_group(data: st.DataObject, of: DeviceTask) -> None:
    """A test of the generator: it must reach admission often enough for the first property to mean something."""
    serial = data.draw(st.sampled_from(ENROLLED))
    group = (
        of.groups[0].group if of.one_shot else assigned_group(of, Enrolment(serial.to_bytes(8, "big"), BEACON, NAME))
    )
    envelope = _envelope(of, group)
    body = bytes(envelope.face.width)
    batch = encoded_batch(envelope, [])[:-4] + (1).to_bytes(4, "big") + body
    entry = TicketedReport(KEY.write(of.digest, serial).to_bytes(), batch)
    (verdict,) = GATES[of.digest].screened(encoded_upload([entry]), NOW).verdicts
    assert verdict == (None if of.one_shot or group in LISTS else ReportStatus.LEVEL_NOT_OPEN)


@given(st.binary(max_size=400))
def test_bytes_that_are_no_upload_are_refused_as_a_whole(data: bytes) -> None:
    try:
        found = GATES[ONE_SHOT.digest].screened(data, NOW)
    except PeerViolation:
        return
    assert set(found.verdicts) <= {ReportStatus.MALFORMED, ReportStatus.UNKNOWN_TASK}
