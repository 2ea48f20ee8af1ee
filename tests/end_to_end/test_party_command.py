"""`treetop party` as people run it: processes, signals, certificates, tickets in a file."""

import datetime
import json
import os
import re
import resource
import signal
import sqlite3
import ssl
import subprocess
import sys
import time
from http.client import HTTPSConnection
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.support.parties import BACK_END_KEY, SECRET, SERVER_KEY, honest_entry
from tests.support.party_processes import PartyProcess, current_task
from typer.testing import CliRunner

from treetop.adapters.store_choice import open_stores
from treetop.cli.federation.party import app
from treetop.errors import InvalidInput
from treetop.federation.service_ports import AdmittedReport
from treetop.federation.wire.uploads import TicketKey, encoded_upload


def run(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "treetop", "party", *words]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=os.environ | environment, check=False
    )


def test_from_settings_to_tickets_and_back(tmp_path: Path) -> None:
    party, of = PartyProcess(tmp_path), current_task()
    party.start()
    party.install(of, 1)
    url, digest = f"http://127.0.0.1:{party.port}", of.digest.hex()
    made = run("tickets", "--settings", str(party.settings), "--task", digest, "--count", "5", "--party", url,
               "--output", str(tmp_path / "tickets.txt"))  # fmt: skip
    assert made.returncode == 0, made.stderr
    lines = (tmp_path / "tickets.txt").read_text().split()
    assert all(TicketKey(SECRET).wrote(of.digest, bytes.fromhex(line)) for line in lines)
    assert len(set(lines)) == 5
    assert (tmp_path / "tickets.txt").stat().st_mode & 0o077 == 0
    again = run("tickets", "--settings", str(party.settings), "--task", digest, "--count", "5", "--party", url,
                "--output", str(tmp_path / "tickets.txt"))  # fmt: skip
    assert (again.returncode, "exists already" in again.stderr) == (2, True)
    upload = encoded_upload([honest_entry(of, 1)])
    assert party.ask("POST", f"/v1/tasks/{digest}/reports", upload) == (200, b'{"verdicts":["accepted"]}')
    assert party.stop() == 0
    party.start()
    assert party.ask("POST", f"/v1/tasks/{digest}/reports", upload) == (200, b'{"verdicts":["replayed"]}')
    shown = "".join(party.lines) + made.stdout + made.stderr
    assert party.stop() == 0
    for canary in (SECRET.decode(), SERVER_KEY, BACK_END_KEY, *lines):
        assert canary not in shown


def test_keys_are_renewed_on_sighup_while_reports_come_in(tmp_path: Path) -> None:
    party, of = PartyProcess(tmp_path), current_task()
    party.start()
    party.install(of, 1)
    path, wish = f"/v1/tasks/{of.digest.hex()}", b'{"count": 1}'
    new = "another-key-" + "n" * 32
    assert party.ask("POST", path + "/tickets", wish, new)[0] == 401
    (tmp_path / "new.key").write_text(new)
    party.settings.write_text(party.settings.read_text() + '[[back_end_access]]\nkey_file = "new.key"\n')
    party.signal(signal.SIGHUP)
    serial, limit = 10, time.monotonic() + 30
    while party.ask("POST", path + "/tickets", wish, new)[0] != 200 and time.monotonic() < limit:
        upload = encoded_upload([honest_entry(of, serial)])
        assert party.ask("POST", path + "/reports", upload) == (200, b'{"verdicts":["accepted"]}')
        serial += 1
    assert party.ask("POST", path + "/tickets", wish, new)[0] == 200
    assert party.ask("POST", path + "/tickets", wish, BACK_END_KEY)[0] == 200
    party.settings.write_text("nonsense")
    party.signal(signal.SIGHUP)
    assert party.ask("POST", path + "/tickets", wish, new)[0] == 200, "settings that cannot be read change nothing"
    assert party.stop() == 0


def certificate(folder: Path) -> None:
    """Write a certificate for 127.0.0.1 that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "party")])
    now = datetime.datetime.now(datetime.UTC)
    alternative = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    made = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1)).add_extension(alternative, critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    (folder / "certificate.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, *private))


class TlsParty(PartyProcess):
    """A party that is reached by TLS."""

    version = ssl.TLSVersion.TLSv1_2

    def ask(self, method: str, path: str, body: bytes | None = None, key: str = "") -> tuple[int, bytes]:
        context = ssl.create_default_context(cafile=str(self.folder / "certificate.pem"))
        context.minimum_version = context.maximum_version = self.version
        connection = HTTPSConnection("localhost", self.port, timeout=60, context=context)
        try:
            connection.request(method, path, body)
            reply = connection.getresponse()
            return reply.status, reply.read()
        finally:
            connection.close()


def test_tls_from_1_2_on(tmp_path: Path) -> None:
    certificate(tmp_path)
    party = TlsParty(tmp_path)
    party.settings.write_text(
        party.settings.read_text() + '[tls]\ncertificate = "certificate.pem"\nkey = "key.pem"\nminimum = "1.3"\n'
    )
    party.version = ssl.TLSVersion.TLSv1_3
    party.start()
    assert json.loads(party.lines[-1])["scheme"] == "https"
    party.version = ssl.TLSVersion.TLSv1_2
    try:
        party.ask("GET", "/v1/health")
        refused = False
    except (ssl.SSLError, ConnectionError):
        refused = True
    assert refused
    assert party.stop() == 0


def test_bad_settings_end_in_one_line_and_exit_code_2(tmp_path: Path) -> None:
    (tmp_path / "party.toml").write_text('nam = "x"\nlisten = "nowhere"\n')
    found = run("--settings", str(tmp_path / "party.toml"))
    assert found.returncode == 2
    assert len(found.stderr.strip().splitlines()) == 1
    assert "did you mean 'name'?" in found.stderr
    assert "expected host:port" in found.stderr
    assert isinstance(CliRunner().invoke(app, []).exception, InvalidInput), "serving needs --settings"


def test_check_says_what_was_understood(tmp_path: Path) -> None:
    party = PartyProcess(tmp_path)
    found = CliRunner().invoke(app, ["check", "--settings", str(party.settings), "--json"])
    told = json.loads(found.stdout)
    plain = CliRunner().invoke(app, ["check", "--settings", str(party.settings)])
    assert plain.exit_code == 0
    assert told["name"] == "north"
    assert told["server keys"] == "active"
    assert SECRET.decode() not in found.stdout


def test_a_store_in_use_and_a_port_in_use_are_told(tmp_path: Path) -> None:
    party = PartyProcess(tmp_path)
    party.start()
    second = run("--settings", str(party.settings))
    assert second.returncode == 2
    assert "was not opened" in second.stderr.splitlines()[-1]
    text = party.settings.read_text().replace("127.0.0.1:0", f"127.0.0.1:{party.port}")
    (tmp_path / "same_port.toml").write_text(text)
    third = run("--settings", str(tmp_path / "same_port.toml"))
    assert (third.returncode, "cannot listen on" in third.stderr) == (2, True)
    assert party.stop() == 0


def test_a_damaged_store_is_told_by_health(tmp_path: Path) -> None:
    """R14 at the endpoint: a task whose rows were changed is named, and nothing of it is acknowledged."""
    party, of = PartyProcess(tmp_path), current_task()
    party.start()
    party.install(of, 1)
    assert party.stop() == 0
    store, _ = open_stores(str(tmp_path / "party.db"))
    store.submit([AdmittedReport(of.digest, 1, of.groups[1].group, honest_entry(of, 1).batch[77:])])
    store.close()
    connection = sqlite3.connect(tmp_path / "party.db")
    connection.execute("UPDATE collection SET reports = reports + 1")
    connection.commit()
    connection.close()
    party.start()
    status, answer = party.ask("POST", f"/v1/tasks/{of.digest.hex()}/reports", encoded_upload([honest_entry(of, 5)]))
    assert status == 503
    assert of.digest.hex().encode() in answer
    status, answer = party.ask("GET", "/v1/health")
    assert (status, of.digest.hex().encode() in answer) == (503, True)
    assert party.stop() == 0


def test_several_parties_in_one_process_are_told_apart_by_their_ports(tmp_path: Path) -> None:
    homes = [PartyProcess(tmp_path / name) for name in ("one", "two")]
    homes[1].settings.write_text(homes[1].settings.read_text().replace('name = "north"', 'name = "south"'))
    named = [word for home in homes for word in ("--settings", str(home.settings))]
    command = [sys.executable, "-m", "treetop", "party", *named]
    of = current_task()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for home in homes:
                home.port = json.loads(process.stderr.readline())["port"]
            assert homes[0].port != homes[1].port
            assert homes[0].ask("GET", "/v1/health")[0] == 200
            tickets = homes[0].install(of, 2)
            assert len(tickets) == 2
            offered = [json.loads(home.ask("GET", "/v1/tasks")[1])["tasks"] for home in homes]
            assert [len(tasks) for tasks in offered] == [1, 0]
        finally:
            process.terminate()
        assert process.wait(180) == 0
    assert all((tmp_path / name / "party.db").exists() for name in ("one", "two"))


def test_several_parties_in_one_process_have_no_roles(tmp_path: Path) -> None:
    homes = [PartyProcess(tmp_path / name) for name in ("one", "two")]
    named = [word for home in homes for word in ("--settings", str(home.settings))]
    command = [sys.executable, "-m", "treetop", "party", "--role", "intake", *named]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == 2
    assert "parties that share a process listen on this machine alone, without [tls] and --role" in done.stderr


@pytest.mark.skipif(not Path("/proc/self/limits").exists(), reason="the limits of another process are read from /proc")
def test_a_service_may_open_as_many_files_as_it_is_allowed_to_at_most(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    party = PartyProcess(tmp_path / "party")
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(200, hard), hard))  # which its process inherits
    try:
        party.start()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    limits = Path(f"/proc/{party.pid}/limits").read_text()
    assert re.search(rf"Max open files +{hard} +{hard} ", limits), limits
    party.stop()
