"""The device's client: the same bytes on every attempt, and nothing believed that was not checked."""

import json
import socket
import ssl
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.support.fake_party import KEY, Answer, FakeParty, as_json, serving
from tests.support.tasks import task

from treetop.adapters.http.retrying_connection import Request, RetryingConnection, RetryPolicy
from treetop.errors import InvalidInput, PartyUnreachable, PeerViolation
from treetop.federation.wire.signed_documents import signed_task
from treetop.federation.wire.uploads import ReportStatus, TicketedReport, encoded_upload
from treetop.services.device.party_client import PartyClient
from treetop.trie.user_groups import Group

TASK = task()
SHORT = RetryPolicy(in_all=20, first_pause=0.001, longest_pause=0.01, answer_within=10)
BATCH = bytes.fromhex(json.loads((Path(__file__).parents[3] / "vectors" / "batches.json").read_text())["good"][3])


@pytest.fixture
def party() -> FakeParty:
    return FakeParty(TASK)


@pytest.fixture
def client(party: FakeParty) -> Iterator[PartyClient]:
    with serving(party) as url:
        found = PartyClient(RetryingConnection(url, retry=SHORT))
        yield found
        found.close()


def failing(times: int, fault: Answer | str) -> Any:
    left = [times]

    def answer(path: str, body: bytes) -> Answer | str | None:
        left[0] -= 1
        return fault if left[0] >= 0 else None

    return answer


def test_a_task_is_listed_and_fetched(client: PartyClient) -> None:
    (offered,) = client.tasks()
    assert (offered.digest, offered.name, offered.mode, offered.open) == (TASK.digest, "fruit", "one-shot", True)
    assert client.task(TASK.digest) == signed_task(TASK, KEY)


def test_what_is_not_there_yet_is_none(client: PartyClient) -> None:
    assert client.beacon(TASK.digest) is None
    assert client.candidate_list(TASK.digest, Group(1)) is None
    assert client.lists(TASK.digest) == []


def test_an_unknown_task_is_said_to_be_unknown(client: PartyClient) -> None:
    with pytest.raises(PeerViolation, match="404: not here"):
        client.task(bytes(32))


def test_tickets_are_written_for_the_back_end(client: PartyClient, party: FakeParty) -> None:
    tickets = client.tickets(TASK.digest, 3, "the back end's key")
    assert [ticket.to_bytes() for ticket in tickets] == party.write_tickets(3)


@pytest.mark.parametrize("fault", [
    as_json({}, 429), as_json({}, 503), (503, b"", {"Retry-After": "0"}), (429, b"", {"Retry-After": "soon"}),
    (502, b"not json", {}), "drop", "lose",
])  # fmt: skip
def test_the_same_bytes_are_sent_until_they_are_taken(client: PartyClient, party: FakeParty, fault: Any) -> None:
    """A lost answer is the worst: the party has the report, the device does not know."""
    party.fault = failing(4, fault)
    entry = TicketedReport(party.write_tickets(1)[0], BATCH)
    expected = ReportStatus.REPLAYED if fault == "lose" else ReportStatus.ACCEPTED
    assert client.submit(TASK.digest, [entry]) == [expected]
    assert {body for path, body in party.requests if path.endswith("reports")} == {encoded_upload([entry])}
    assert len(party.requests) == 5


def test_connections_are_kept(client: PartyClient, party: FakeParty, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    honest = RetryingConnection._opened

    def counting(self: RetryingConnection) -> Any:
        opened.append("one")
        return honest(self)

    monkeypatch.setattr(RetryingConnection, "_opened", counting)
    for _ in range(5):
        client.tasks()
    assert opened == ["one"]


def test_a_pause_grows_and_is_at_least_what_was_asked_for(party: FakeParty) -> None:
    pauses: list[float] = []
    party.fault = failing(4, (503, b"", {}))
    with serving(party) as url:
        patience = RetryPolicy(in_all=1_000, first_pause=1, longest_pause=100)
        connection = RetryingConnection(url, retry=patience, sleep=pauses.append)
        connection.ask(Request("GET", "/v1/tasks"))
        party.fault = failing(1, (429, b"", {"Retry-After": "77"}))
        connection.ask(Request("GET", "/v1/tasks"))
        party.fault = failing(1, (429, b"", {"Retry-After": "99999999999"}))
        connection.ask(Request("GET", "/v1/tasks"))
        connection.close()
    for pause, least in zip(pauses, (1, 2, 4, 8, 77, 100), strict=True):
        assert least <= pause <= 1.5 * least


def test_a_party_that_stays_away_is_unreachable(party: FakeParty) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}"
        with pytest.raises(PartyUnreachable, match="ConnectionRefused"):
            PartyClient(RetryingConnection(url, retry=RetryPolicy(in_all=0.05, first_pause=0.001))).tasks()
    party.fault = failing(1_000, (503, b"", {}))
    with serving(party) as url, pytest.raises(PartyUnreachable, match="503"):
        PartyClient(RetryingConnection(url, retry=RetryPolicy(in_all=0.05, first_pause=0.001))).tasks()


WRONG_VERDICTS: list[bytes] = [
    b"", b"[]", b"{", b'{"verdicts":[]}', b'{"verdicts":["accepted","accepted"]}', b'{"verdicts":["taken"]}',
    b'{"verdicts":"accepted"}', b'{"verdicts":[null]}', b'{"verdicts":[["accepted"]]}', b"[" * 100_000, b"\xff",
]  # fmt: skip


@pytest.mark.parametrize("body", WRONG_VERDICTS, ids=lambda body: str(body[:30]))
def test_wrong_verdicts_are_refused(client: PartyClient, party: FakeParty, body: bytes) -> None:
    party.fault = lambda path, _: (200, body, {})
    with pytest.raises(PeerViolation):
        client.submit(TASK.digest, [TicketedReport(bytes(24), BATCH)])
    with pytest.raises(PeerViolation):
        client.enrol(TASK.digest, [bytes(24)])


@pytest.mark.parametrize("told", [
    {}, {"lists": {}}, {"lists": [{}]}, {"lists": [{"level": "1", "role": 0, "state": "open"}]},
    {"lists": [{"level": 1, "role": 3, "state": "open"}]}, {"lists": [{"level": 1, "role": 0, "state": "ajar"}]},
    {"lists": [{"level": True, "role": 0, "state": "open"}]}, {"tasks": [{"digest": "00"}]},
    {"tasks": [{"digest": "00", "name": "a", "mode": "rounds", "state": "open"}]},
    {"tasks": [{"digest": "00" * 32, "name": "a", "mode": "round", "state": "open"}]},
])  # fmt: skip
def test_wrong_listings_are_refused(client: PartyClient, party: FakeParty, told: object) -> None:
    party.fault = lambda path, _: as_json(told)
    with pytest.raises(PeerViolation):
        client.lists(TASK.digest) if "tasks" not in str(told) else client.tasks()


@pytest.mark.parametrize("tickets", [[], ["00"], ["zz" * 24], [5], ["00" * 24] * 2])
def test_wrong_tickets_are_refused(client: PartyClient, party: FakeParty, tickets: list[object]) -> None:
    party.fault = lambda path, _: as_json({"tickets": tickets})
    with pytest.raises(PeerViolation):
        client.tickets(TASK.digest, 1, "key")


def test_an_endless_answer_is_cut_off(client: PartyClient, party: FakeParty) -> None:
    party.fault = lambda path, _: (200, b" " * ((1 << 22) + 1), {})
    with pytest.raises(PeerViolation, match="4194304 at most"):
        client.tasks()
    party.fault = lambda path, _: None
    assert client.tasks()


@pytest.mark.parametrize("status", [301, 400, 401, 413, 500])
def test_other_answers_are_said_as_they_are(client: PartyClient, party: FakeParty, status: int) -> None:
    party.fault = lambda path, _: as_json({"detail": "too\x1b[31m long " + "x" * 1_000}, status)
    with pytest.raises(PeerViolation, match=f"{status}: too\\[31m long x") as refused:
        client.tasks()
    assert len(str(refused.value)) < 400
    assert len(party.requests) == 1


@pytest.mark.parametrize("url", [
    "", "party.example", "ftp://party.example", "http://party.example", "https://", "https://a:b@party.example",
    "https://party.example/?query", "http://10.0.0.1:8000",
])  # fmt: skip
def test_wrong_addresses_are_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="expected"):
        RetryingConnection(url)


def certificate(folder: Path) -> tuple[Path, Path]:
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")]),
    )
    now = datetime.now(UTC)
    names = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
    cert = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    (folder / "key.pem").write_bytes(secret)
    (folder / "cert.pem").write_bytes(cert.public_bytes(serialization.Encoding.PEM))
    return folder / "key.pem", folder / "cert.pem"


def answering_once(context: ssl.SSLContext, server: socket.socket) -> None:
    try:
        with context.wrap_socket(server.accept()[0], server_side=True) as talk:
            talk.recv(1 << 16)
            talk.sendall(b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"tasks":[]}')
    except OSError:
        pass  # the client did not trust us


@pytest.mark.parametrize(("host", "trusted"), [("localhost", True), ("localhost", False), ("127.0.0.1", True)])
def test_certificates_are_checked(tmp_path: Path, host: str, trusted: bool) -> None:
    key, cert = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = Thread(target=answering_once, args=(context, server))
        thread.start()
        url = f"https://{host}:{server.getsockname()[1]}"
        client = PartyClient(RetryingConnection(url, cert if trusted else None, SHORT))
        if (host, trusted) == ("localhost", True):
            assert client.tasks() == []
        else:
            with pytest.raises(PartyUnreachable, match="certificate is not trusted"):
                client.tasks()
        client.close()
        thread.join()


def test_certificates_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="no certificates"):
        RetryingConnection("https://party.example", tmp_path / "nowhere.pem")
