"""A certificate authority for tests, and certificates of this machine that it signs."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM = serialization.Encoding.PEM
DAY = datetime.timedelta(days=1)
TLS_TABLE = '\n[tls]\ncertificate = "certificate.pem"\nkey = "key.pem"\n'


class Authority:
    """Signs certificates for localhost."""

    def __init__(self) -> None:
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority of a test")])
        limits = x509.BasicConstraints(ca=True, path_length=0)
        usage = x509.KeyUsage(
            digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
            key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
        )  # fmt: skip
        made = self._begun(self._name, self._key).add_extension(limits, critical=True).add_extension(usage, True)
        self._certificate = made.sign(self._key, hashes.SHA256())

    def save(self, path: Path) -> Path:
        """Write what clients trust."""
        path.write_bytes(self._certificate.public_bytes(PEM))
        return path

    def issue(self, folder: Path) -> int:
        """Write certificate.pem and key.pem, over older ones; return the serial number."""
        folder.mkdir(parents=True, exist_ok=True)
        key = ec.generate_private_key(ec.SECP256R1())
        addresses = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
        made = (
            self._begun(name, key).add_extension(x509.SubjectAlternativeName(addresses), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )  # fmt: skip
        private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        (folder / "key.pem").write_bytes(key.private_bytes(PEM, *private))
        (folder / "certificate.pem").write_bytes(made.public_bytes(PEM))
        return made.serial_number

    def _begun(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder().subject_name(subject).issuer_name(self._name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - DAY).not_valid_after(now + DAY)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        )  # fmt: skip
