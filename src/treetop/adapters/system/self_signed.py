"""A certificate of this machine's own, for phones in the same network: they ask their owners whether to trust it."""

import datetime
import ipaddress
from hashlib import sha256
from importlib import import_module
from pathlib import Path

from treetop.adapters.system.durable_file import replace_durably
from treetop.extras import needed_for

DAYS = 30


def issue_self_signed(address: str, certificate: Path, key: Path) -> str:
    """Write a new certificate for an IP address and its key; return the fingerprint that a phone shows."""
    with needed_for("a certificate", "federation"):
        x509 = import_module("cryptography.x509")
        hashes = import_module("cryptography.hazmat.primitives.hashes")
        serialization = import_module("cryptography.hazmat.primitives.serialization")
        ec = import_module("cryptography.hazmat.primitives.asymmetric.ec")
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "treetop up --survey")])
    now = datetime.datetime.now(datetime.UTC)
    names = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))])
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(private.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(days=DAYS))
        .add_extension(names, critical=False)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([x509.ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(private, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    plain = serialization.NoEncryption()
    replace_durably(key, private.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    replace_durably(certificate, made.public_bytes(pem))
    digest = sha256(made.public_bytes(serialization.Encoding.DER)).hexdigest().upper()
    return ":".join(digest[place : place + 2] for place in range(0, len(digest), 2))
