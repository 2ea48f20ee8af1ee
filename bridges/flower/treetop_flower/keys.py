"""The public key of a party's node: as ssh-keygen writes it in the settings, and as SuperLink keeps it."""

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_ssh_public_key

CURVES = (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)


def public_bytes(line: str) -> bytes:
    """Return the key as SuperLink keeps it; ValueError says what is wrong with the line."""
    try:
        key = load_ssh_public_key(line.encode("ascii"))
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, ec.EllipticCurvePublicKey) or not isinstance(key.curve, CURVES):
        raise ValueError("expected a line such as ecdsa-sha2-nistp384 AAAA..., found something else")
    return key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
