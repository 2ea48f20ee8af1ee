from hashlib import sha256
from pathlib import Path

import pytest

from treetop.errors import InvalidInput
from treetop.services.server.settings import ServerSettings
from treetop.toml_files import read_toml

SAMPLE = Path(__file__).parents[4] / "docs" / "how_to" / "samples" / "server.toml"
ENVIRONMENT = {
    "TREETOP_SOUTH_KEY": "s" * 40,
    "TYPO": "postgres//alice:canary@host/db",
    "PATH": "data/server.db",
    "SHORT": "test",
}


def laid_out(folder: Path, text: str | None = None) -> Path:
    (folder / "secrets").mkdir()
    for name in ("admin", "north"):
        (folder / "secrets" / f"{name}.key").write_text("k" * 40 + "\n")
    path = folder / "server.toml"
    path.write_text(SAMPLE.read_text() if text is None else text)
    return path


def test_the_sample_is_read(tmp_path: Path) -> None:
    settings = read_toml(laid_out(tmp_path), ServerSettings, ENVIRONMENT)
    assert [party.name for party in settings.parties] == ["branch-north", "branch-south"]
    assert settings.signing_key == tmp_path / "secrets" / "signing.key"
    assert settings.journal_location.where == str(tmp_path / "data" / "server.db")
    assert [party.expected_users for party in settings.parties] == [12000, None]
    assert settings.scheme == "http"
    assert "s" * 40 not in repr(settings)


def test_what_the_sample_leaves_out_are_the_defaults(tmp_path: Path) -> None:
    text = SAMPLE.read_text()
    limits = (
        "[limits]", "most_body_bytes = 1048576", "requests_at_once = 200", "body_seconds = 15",
        "connections_at_once = 800", "most_bytes_in_flight = 67108864",
    )  # fmt: skip
    for line in ("accept_older_journal = false", "trusted_proxy = false", *limits):
        assert f"# {line}" in text
        text = text.replace(f"# {line}", line)
    assert read_toml(laid_out(tmp_path, text), ServerSettings, ENVIRONMENT) == read_toml(
        _plain(tmp_path), ServerSettings, ENVIRONMENT
    )


def _plain(folder: Path) -> Path:
    path = folder / "plain.toml"
    path.write_text(SAMPLE.read_text())
    return path


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('listen = "127.0.0.1:8460"', 'listen = "0.0.0.0:8460"', "needs \\[tls\\]"),
        ('name = "branch-south"', 'name = "branch-north"', "named 2 times"),
        ('url = "https://north.example:8443"', 'url = "http://north.example:8443"', "plain http"),
        ("# [limits]\n", "[limits]\nbody_seconds = 0\n", "1 at least"),
        ("# [limits]\n", "[limits]\nmost_bytes_in_flight = 1000\n", "must hold one body at least"),
        ("expected_users = 12000", "expected_users = 0", "expected_users must be from 1"),
        ("expected_users = 12000", f"expected_users = {1 << 64}", "expected_users must be from 1"),
        ('journal = "data', 'journl = "data', "journl.*journal"),
        ('journal = "data/server.db"', 'journal_url_env = "TYPO"', "^((?!canary).)*journal_url: exp((?!canary).)*$"),
        ('journal = "data/server.db"', 'journal_url_env = "PATH"', "the secret journal_url must be a postgresql://"),
        ('journal = "data/server.db"', 'journal = "postgresql://host/treetop"', "commit_file is missing"),
        ("key_file = \"secrets/admin.key\"\n", "", "key_file, key_env and sha256"),
        ("key_file = \"secrets/admin.key\"", f'sha256 = "{sha256().hexdigest()}"', "digest of an empty key"),
        ("key_file = \"secrets/admin.key\"", f'sha256 = "{sha256(b"test").hexdigest().upper()}"', "a word that"),
        ('key_env = "TREETOP_SOUTH_KEY"', 'key_env = "SHORT"', "must have 32 characters at least"),
    ],
)  # fmt: skip
def test_bad_settings_are_refused(tmp_path: Path, old: str, new: str, told: str) -> None:
    text = SAMPLE.read_text()
    assert old in text
    with pytest.raises(InvalidInput, match=told):
        read_toml(laid_out(tmp_path, text.replace(old, new)), ServerSettings, ENVIRONMENT)
