"""Keys in files: the server's Ed25519 key, its public keys as devices and parties pin them, a self-signed certificate.

The certificate is for phones in the network of this machine, which ask their owners whether to trust it.
"""

import datetime
import ipaddress
import os
import re
from collections.abc import Iterable
from hashlib import sha256
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from treetop.adapters.system.durable_file import create_durably, replace_durably
from treetop.errors import InvalidInput
from treetop.extras import needed_for
from treetop.secret_files import read_secret

SEED_BYTES = 32
SIGNATURE_BYTES = 64
_ED25519 = "hazmat.primitives.asymmetric.ed25519"
_HEX_KEY = re.compile(r"[0-9a-f]{64}")
_FIELD = 2**255 - 19
_OF_ORDER_8 = 0x05FC536D880238B13933C6D305ACDFD5F098EFF289F4C345B027B2C28F95E826
_SMALL_ORDER = {0, 1, _FIELD - 1, _OF_ORDER_8, _FIELD - _OF_ORDER_8}
"""The y-coordinates of the points whose order divides 8 (RFC 8032, section 5.1: cofactor 8).

Anyone can sign for such a key. 64 zeros are one of them.
"""


def _library(part: str) -> ModuleType:
    """Load a part of the library that signs; only a process that signs or checks signatures needs it."""
    with needed_for("a signature", "federation"):
        return import_module(f"cryptography.{part}")


class SigningKey:
    """Run by the server: signs tasks, lists and beacons."""

    def __init__(self, seed: bytes) -> None:
        if len(seed) != SEED_BYTES:
            raise InvalidInput("signing_key_length", seed_bytes=SEED_BYTES, number=len(seed))
        self._seed = seed
        self._key = _library(_ED25519).Ed25519PrivateKey.from_private_bytes(seed)

    def __repr__(self) -> str:
        return "SigningKey(redacted)"

    @classmethod
    def generate(cls) -> "SigningKey":
        """Draw a new key."""
        return cls(os.urandom(SEED_BYTES))

    @classmethod
    def load(cls, path: Path) -> "SigningKey":
        """Read a key from 64 hexadecimal digits or PEM, in a file that only its owner can read."""
        try:
            content = read_secret(path)
        except OSError as reason:
            raise InvalidInput("signing_key_unreadable", path=path, reason=reason.strerror) from None
        text = content.decode("ascii", errors="replace").strip()
        return cls(bytes.fromhex(text) if _HEX_KEY.fullmatch(text.lower()) else _seed_of_pem(path, content))

    def save(self, path: Path) -> None:
        """Write the key as hexadecimal digits to a new file that only its owner can read; none is overwritten."""
        create_durably(path, self._seed.hex().encode("ascii") + b"\n")

    @property
    def public(self) -> str:
        """Return the public key in 64 hexadecimal digits: what devices and parties pin."""
        raw: bytes = self._key.public_key().public_bytes_raw()
        return raw.hex()

    def sign(self, message: bytes) -> bytes:
        """Return the signature of a message, 64 bytes."""
        signature: bytes = self._key.sign(message)
        return signature


def _seed_of_pem(path: Path, content: bytes) -> bytes:
    try:
        key = _library("hazmat.primitives.serialization").load_pem_private_key(content, password=None)
        seed: bytes = key.private_bytes_raw()
    except (ValueError, TypeError, AttributeError):
        raise InvalidInput("key_malformed", path=path) from None
    if len(seed) != SEED_BYTES or key.__class__.__name__ != "Ed25519PrivateKey":
        raise InvalidInput("key_of_another_kind", path=path)
    return seed


class PinnedKeys:
    """Run by the device and the party: the server's public keys; two or more while one is replaced by the next."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = tuple(key.strip().lower() for key in keys)
        if not self.keys or not all(map(_HEX_KEY.fullmatch, self.keys)):
            raise InvalidInput("server_key_malformed")
        if any(_anybody_signs_for(bytes.fromhex(key)) for key in self.keys):
            raise InvalidInput("server_key_weak")
        public = _library(_ED25519).Ed25519PublicKey
        self._keys = tuple(public.from_public_bytes(bytes.fromhex(key)) for key in self.keys)

    def verifies(self, message: bytes, signature: bytes) -> bool:
        """Return whether one of the pinned keys signed the message."""
        return len(signature) == SIGNATURE_BYTES and any(_signed_by(key, message, signature) for key in self._keys)


def _anybody_signs_for(key: bytes) -> bool:
    """Return whether a key is a point of small order; the highest bit is the sign of its other coordinate."""
    return int.from_bytes(key, "little") % 2**255 % _FIELD in _SMALL_ORDER


def _signed_by(key: Any, message: bytes, signature: bytes) -> bool:
    try:
        key.verify(signature, message)
    except _library("exceptions").InvalidSignature:
        return False
    return True


DAYS = 30
"""How long the certificate holds."""


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
    return ":".join(digest[index : index + 2] for index in range(0, len(digest), 2))
