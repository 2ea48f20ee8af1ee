"""What a party's settings may say."""

from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import pytest
from tests.support.refusals import refused

from treetop.adapters.http.endpoint_settings import AccessKey, Address
from treetop.adapters.store_choice import StoreLocation
from treetop.errors import InvalidInput
from treetop.services.party.settings import PartySettings
from treetop.toml_files import read_toml

SAMPLE = Path(__file__).parents[4] / "docs" / "how_to" / "samples" / "party.toml"
KEY = "k" * 32
DIGEST = "80ed5e4805b2ceb3a537807c65b46a59ac186b0646a62a2e433bd929ab932dc6"
"""In the sample."""
ENVIRONMENT = {"TREETOP_SERVER_KEY": KEY}


def sample(folder: Path, old: str = "", new: str = "", more: Mapping[str, str] | None = None) -> PartySettings:
    (folder / "secrets").mkdir(exist_ok=True)
    for name in ("ticket.secret", "back_end.key", "metrics.key"):
        (folder / "secrets" / name).write_text(KEY)
    text = SAMPLE.read_text()
    assert old in text
    (folder / "party.toml").write_text(text.replace(old, new, 1))
    return read_toml(folder / "party.toml", PartySettings, {**ENVIRONMENT, **(more or {})})


def test_the_sample_is_understood(tmp_path: Path) -> None:
    found = sample(tmp_path)
    assert found.name == "branch-north"
    assert found.listen == Address("0.0.0.0", 8443)  # noqa: S104
    assert found.store_location.where == str(tmp_path / "data/party.db")
    assert found.tls is not None
    assert found.tls.key == tmp_path / "tls/key.pem"
    assert found.scheme == "https"
    assert [key.state(datetime(2027, 1, 15, tzinfo=UTC)) for key in found.server_access] == ["active", "active"]
    assert [key.state(datetime(2026, 1, 15, tzinfo=UTC)) for key in found.server_access] == ["active", "pending"]
    assert [key.state(datetime(2028, 1, 15, tzinfo=UTC)) for key in found.server_access] == ["expired", "active"]
    assert KEY not in repr(found)


def test_the_defaults_in_the_sample_are_the_defaults(tmp_path: Path) -> None:
    assert sample(tmp_path) == sample(tmp_path, SAMPLE.read_text()[SAMPLE.read_text().index("[limits]") :])
    commented = sample(tmp_path, "# accept_older", "accept_older")
    assert commented == sample(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('name = "branch-north"', 'name = ""', "name must not be empty"),
        ('listen = "0.0.0.0:8443"', 'listen = "0.0.0.0"', "expected host:port"),
        ('listen = "0.0.0.0:8443"', 'listen = "h:99999"', "expected host:port"),
        ('listen = "0.0.0.0:8443"', "listen = 8443", "expected host:port"),
        ('store = "data/party.db"', "", "give one of store"),
        ('store = "data/party.db"', 'store = "postgresql://u:canary@h/d"', "an address with a password is a secret"),
        ('store = "data/party.db"', 'store = "mysql://h/d"', "postgresql://"),
        ('store = "data/party.db"', 'store = ""', "expected the path"),
        ("b1f823", "canary", "64 hexadecimal digits"),
        ("[tls]", "[tlz]", "did you mean 'tls'?"),
        ('minimum = "1.2"', 'minimum = "1.1"', 'minimum must be "1.2" or "1.3"'),
        ("queue = 50000", "queue = 0", "queue must be 1 at least"),
        ("queue = 50000", "queue = 10", "queue must hold one request"),
        ("most_bytes_in_flight = 67108864", "most_bytes_in_flight = 4194303", "must hold one body at least"),
        ("connections_at_once = 800", "connections_at_once = 0", "connections_at_once must be 1 at least"),
        ('key_file = "secrets/back_end.key"', "", "give one of key_file, key_env and sha256"),
        ('"80ed5e48', '"zz', "sha256 must be 64 hexadecimal digits"),
        *(
            (DIGEST, sha256(word).hexdigest(), "sha256 is the digest of an empty key")
            for word in (b"", b" ", b"\n", b"test", b"password", b"admin\n", b"treetop", b"changeme")
        ),
        ("not_after = 2027-01-31", "not_after = 2027-01-31\nnot_before = 2028-01-01", "must come before"),
        ("most_reports_per_request = 10000", "most_reports_per_request = 20000", "10000 at most"),
        ("# allowed_origins = []", 'allowed_origins = ["*"]', "must name every origin"),
        ("# allowed_origins = []", 'allowed_origins = ["survey.example"]', "https://survey.example"),
    ],
)
def test_what_is_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        sample(tmp_path, old, new)
    assert told in str(refusal.value)


def test_plain_http_only_at_home_or_behind_a_proxy(tmp_path: Path) -> None:
    text = SAMPLE.read_text()
    without = text[text.index("[tls]") : text.index("[limits]")]
    with pytest.raises(InvalidInput, match="needs \\[tls\\]"):
        sample(tmp_path, without)
    (tmp_path / "x").mkdir()
    local = text.replace(without, "").replace("0.0.0.0:8443", "[::1]:0")
    (tmp_path / "local.toml").write_text(local)
    found = read_toml(tmp_path / "local.toml", PartySettings, ENVIRONMENT)
    assert (str(found.listen), found.scheme) == ("[::1]:0", "http")
    proxied = text.replace(without, "").replace("# trusted_proxy = false", "trusted_proxy = true")
    (tmp_path / "proxied.toml").write_text(proxied)
    assert read_toml(tmp_path / "proxied.toml", PartySettings, ENVIRONMENT).trusted_proxy


def test_a_database_is_not_shown() -> None:
    place = StoreLocation("postgresql://u:canary@h/d")
    assert "canary" not in repr(place) + str(place)


def test_short_keys_are_refused() -> None:
    from treetop.toml_files import Secret

    with refused("key_too_short", InvalidInput, min_secret_bytes=32):
        AccessKey(Secret(b"short"))


TYPOS = (
    "postgres//alice:canary@host/db", "postgresq://alice:canary@host/db", "postgresql:/alice:canary@host/db",
    "postgresql://alice:canary@host:port/db", "postgresql://alice:can@ry@canary/db", "alice:canary@host/db",
    "host=host user=alice password=canary",
)  # fmt: skip


@pytest.mark.parametrize("typo", TYPOS)
def test_a_mistyped_address_is_refused_and_not_shown(tmp_path: Path, typo: str) -> None:
    """Wherever it stands: openly, in the file or variable of the secret, or in the place of their names."""
    (tmp_path / "url").write_text(typo)
    for line in (
        f'store = "{typo}"', 'store_url_file = "url"', 'store_url_env = "URL"', f'store_url_env = "{typo}"',
        f'store_url_file = "{typo}"', f'store_url = "{typo}"', f'store_url_file = "url"\nstore = "{typo}"',
    ):  # fmt: skip
        with pytest.raises(InvalidInput) as refusal:
            sample(tmp_path, 'store = "data/party.db"', f'{line}\ncommit_file = "store.commit"', {"URL": typo})
        assert not any(piece in str(refusal.value) for piece in ("canary", "can@", "alice"))


def test_a_store_in_postgresql_needs_a_commit_file(tmp_path: Path) -> None:
    old, new = 'store = "data/party.db"', 'store = "postgresql://host/treetop"'
    with pytest.raises(InvalidInput, match="commit_file is missing"):
        sample(tmp_path, old, new)
    found = sample(tmp_path, old, f'{new}\ncommit_file = "data/store.commit"')
    assert found.commit_file == tmp_path / "data" / "store.commit"
    assert str(found.store_location) == "postgresql://host/treetop"
