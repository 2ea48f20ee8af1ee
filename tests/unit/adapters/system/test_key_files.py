import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ed25519, x25519

from treetop.adapters.system.key_files import PinnedKeys, SigningKey, _signed_by
from treetop.errors import InvalidInput

# RFC 8032, section 7.1, test 2: secret key, public key, message, signature
SEED = "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"
PUBLIC = "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
SIGNATURE = (
    "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
    "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
)


def test_it_is_the_ed25519_of_the_standard() -> None:
    key = SigningKey(bytes.fromhex(SEED))
    assert key.public == PUBLIC
    assert key.sign(b"\x72").hex() == SIGNATURE
    assert PinnedKeys([PUBLIC]).verifies(b"\x72", bytes.fromhex(SIGNATURE))


def test_every_flipped_bit_is_noticed() -> None:
    pinned, signature = PinnedKeys([PUBLIC]), bytes.fromhex(SIGNATURE)
    for bit in range(512):
        flipped = (int.from_bytes(signature, "big") ^ (1 << bit)).to_bytes(64, "big")
        assert not pinned.verifies(b"\x72", flipped)
    assert not pinned.verifies(b"\x73", signature)
    assert not pinned.verifies(b"\x72", signature[:-1])
    assert not pinned.verifies(b"\x72", signature + b"\0")


def test_one_of_several_pinned_keys_is_enough() -> None:
    old, new = SigningKey.generate(), SigningKey.generate()
    pinned = PinnedKeys([old.public, new.public.upper()])
    assert pinned.verifies(b"text", old.sign(b"text"))
    assert pinned.verifies(b"text", new.sign(b"text"))
    assert not pinned.verifies(b"text", SigningKey.generate().sign(b"text"))


def test_a_key_is_kept_in_a_file_of_its_owner(tmp_path: Path) -> None:
    key, path = SigningKey.generate(), tmp_path / "key"
    key.save(path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert SigningKey.load(path).public == key.public
    with pytest.raises(InvalidInput, match="exists already"):
        key.save(path)
    path.chmod(0o640)
    with pytest.raises(InvalidInput, match="mode 600.*640"):
        SigningKey.load(path)


def written(tmp_path: Path, content: bytes) -> Path:
    path = tmp_path / "key"
    path.write_bytes(content)
    path.chmod(0o600)
    return path


def pem_of(key: ed25519.Ed25519PrivateKey | x25519.X25519PrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )


def test_a_key_in_pem_is_read(tmp_path: Path) -> None:
    key = ed25519.Ed25519PrivateKey.from_private_bytes(bytes.fromhex(SEED))
    assert SigningKey.load(written(tmp_path, pem_of(key))).public == PUBLIC


def test_other_files_are_refused_without_showing_them(tmp_path: Path) -> None:
    other_kind = pem_of(x25519.X25519PrivateKey.from_private_bytes(bytes.fromhex(SEED)))
    for content in (b"", SEED[:-1].encode(), SEED.encode() + b"0", b"\xff" * 64, other_kind):
        with pytest.raises(InvalidInput, match="expected") as refused:
            SigningKey.load(written(tmp_path, content))
        assert SEED[:16] not in str(refused.value)
    with pytest.raises(InvalidInput, match="no signing key"):
        SigningKey.load(tmp_path / "nowhere")


def test_a_key_shows_nothing() -> None:
    key = SigningKey(bytes.fromhex(SEED))
    assert repr(key) == str(key) == "SigningKey(redacted)"


@pytest.mark.parametrize("key", ["", "00", "g" * 64, PUBLIC + "00"])
def test_wrong_public_keys_are_refused(key: str) -> None:
    with pytest.raises(InvalidInput, match="64 hexadecimal digits"):
        PinnedKeys([key])


P = 2**255 - 19
ORDER_8 = int.from_bytes(bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little")


@pytest.mark.parametrize("sign", [0, 1 << 255])
@pytest.mark.parametrize("point", [0, 1, P - 1, P, P + 1, ORDER_8, P - ORDER_8])
def test_a_key_that_anybody_signs_for_is_refused(point: int, sign: int) -> None:
    key = (point | sign).to_bytes(32, "little")
    with pytest.raises(InvalidInput, match="anybody"):
        PinnedKeys([PUBLIC, key.hex()])


def test_without_the_check_one_signature_would_do_for_many_texts() -> None:
    loaded = ed25519.Ed25519PublicKey.from_public_bytes(ORDER_8.to_bytes(32, "little"))
    forged = (1).to_bytes(32, "little") + bytes(32)
    texts = [b"text %d" % number for number in range(200)]
    assert sum(_signed_by(loaded, text, forged) for text in texts) > 5


def test_no_key_at_all_is_refused() -> None:
    with pytest.raises(InvalidInput):
        PinnedKeys([])


def test_without_the_extra_the_error_names_it() -> None:
    program = (
        "import sys; sys.modules['cryptography.hazmat.primitives.asymmetric'] = None\n"
        "from treetop.adapters.system.key_files import SigningKey\n"
        "SigningKey.generate()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=180, check=False)
    assert 'pip install "treetop-ldp[federation]"' in done.stderr
