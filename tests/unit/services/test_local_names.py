"""A server and a party on loopback answer to this machine's names alone, unless a proxy is in front."""

from pathlib import Path
from typing import Any

import pytest

from treetop.adapters.http.browser_rules import LOCAL_NAMES
from treetop.adapters.http.request_guard import RequestGuard
from treetop.adapters.system.key_files import SigningKey
from treetop.services.local.folder import party_settings, server_settings
from treetop.services.party import service as party_service
from treetop.services.server import service as server_service

BEHIND_A_PROXY = "trusted_proxy = true\n"


def hosts_of(app: RequestGuard) -> frozenset[str] | None:
    return app._context.hosts


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collects what would be served."""
    apps: list[Any] = []
    for module in (party_service, server_service):
        monkeypatch.setattr(module, "serve", lambda app, *_, **__: apps.append(app))
    return apps


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("tickets", "server", "back_end", "admin", "metrics", "north"):
        (tmp_path / f"{name}.key").write_text(f"{name}-0123456789abcdef0123456789abcdef")
        (tmp_path / f"{name}.key").chmod(0o600)
    SigningKey.generate().save(tmp_path / "signing.key")
    return tmp_path


@pytest.mark.parametrize(("more", "names"), [("", LOCAL_NAMES), (BEHIND_A_PROXY, None)])
def test_a_party(folder: Path, served: list[Any], more: str, names: frozenset[str] | None) -> None:
    (folder / "party.toml").write_text(more + party_settings("north", 0, SigningKey.generate().public))
    party_service.serve_parties([folder / "party.toml"], {}, lambda *_: ())
    assert [hosts_of(app) for app in served] == [names]


@pytest.mark.parametrize(("more", "names"), [("", LOCAL_NAMES), (BEHIND_A_PROXY, None)])
def test_a_server(folder: Path, served: list[Any], more: str, names: frozenset[str] | None) -> None:
    party = '[[parties]]\nname = "north"\nurl = "http://localhost:9"\nkey_file = "north.key"\n'
    (folder / "server.toml").write_text(more + server_settings(0) + party)
    server_service.serve_server(folder / "server.toml", {}, lambda *_: ())
    assert [hosts_of(app) for app in served] == [names]
