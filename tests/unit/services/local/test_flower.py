"""Flower beside a local federation: settings that the bridge reads, keys that stay, programs that are started again."""

import os
import signal
import stat
import time
from pathlib import Path
from urllib.parse import unquote

import pytest
from tests.support.refusals import refused

from treetop.datasets.loading import as_federation
from treetop.errors import InvalidInput
from treetop.federation.server.order_json import query_to_json
from treetop.mechanisms.query import Query
from treetop.services.local.flower import FlowerCarrier
from treetop.services.local.folder import FederationFolder, LocalOptions
from treetop.services.local.processes import Processes
from treetop.services.local.run import LocalFederation
from treetop.services.server.settings import ServerSettings
from treetop.toml_files import read_toml
from treetop_flower.settings import LinkSettings, NodeSettings, read_settings

PEOPLE = as_federation({"north/1": {"tea": 3, "milk": 1}, "süd": {"tea": 2}})


@pytest.fixture
def folder(tmp_path: Path) -> FederationFolder:
    options = LocalOptions("drinks", 2, 6, query_to_json(Query(encoding="words")))
    return FederationFolder.begin(tmp_path / "up", options, PEOPLE)


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """An environment whose command says how it was called, and lasts."""
    command = tmp_path / "venv" / "bin" / "treetop-flower"
    command.parent.mkdir(parents=True)
    command.write_text('#!/bin/sh\necho "$@"\nexec sleep 60\n')
    command.chmod(0o755)
    return tmp_path / "venv"


def test_without_the_bridge_it_says_how_to_make_it(tmp_path: Path) -> None:
    with refused("flower_missing", InvalidInput):
        FlowerCarrier(tmp_path)


def test_the_server_finds_its_parties_at_the_gateway(folder: FederationFolder, environment: Path) -> None:
    LocalFederation(folder, Processes(lambda _: None), carrier=FlowerCarrier(environment))
    link = read_settings(folder.path / "flower" / "link.toml", LinkSettings)
    server = read_toml(folder.path / "server" / "server.toml", ServerSettings, {})
    assert {unquote(party.url): party.name for party in server.parties} == {
        f"http://{link.gateway}/party/{name}": name for name in folder.parties
    }
    assert [party.name for party in link.parties] == list(folder.parties)


def test_each_party_has_a_node_with_a_key_of_its_own_that_stays(folder: FederationFolder, environment: Path) -> None:
    services = {"north/1": "http://127.0.0.1:4001", "süd": "http://127.0.0.1:4002"}
    FlowerCarrier(environment).prepare(folder, services)
    first = read_settings(folder.path / "flower" / "link.toml", LinkSettings)
    FlowerCarrier(environment).prepare(folder, services)
    again = read_settings(folder.path / "flower" / "link.toml", LinkSettings)
    assert first.parties == again.parties
    for name, home in folder.parties.items():
        node = read_settings(home.path / "flower" / "node.toml", NodeSettings)
        assert (node.party, node.superlink) == (services[name], str(again.listen))
        assert node.ca.samefile(again.ca)
        assert stat.S_IMODE(node.private_key.stat().st_mode) == 0o600
    assert stat.S_IMODE(again.private_key.stat().st_mode) == 0o600


def test_whatever_ends_is_started_again(folder: FederationFolder, environment: Path) -> None:
    carrier, died = FlowerCarrier(environment), list[str]()
    carrier.prepare(folder, {"north/1": "http://127.0.0.1:4001", "süd": "http://127.0.0.1:4002"})
    with Processes(died.append) as processes:
        carrier.start(processes)
        assert [process.name for process in processes.all] == [
            "flower link", "flower run", "party_1_north_1 node", "party_2_s_d node"
        ]  # fmt: skip
        for process, number in zip(processes.all, (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL), strict=False):
            os.kill(process.process.pid, number)
            process.process.wait(60)
        processes.revive()
        assert died == ["flower link", "flower run", "party_1_north_1 node"]
        end = time.monotonic() + 60
        while not processes.all[2].lines() and time.monotonic() < end:
            time.sleep(0.05)
        assert processes.all[2].lines()[0] == f"node --settings {folder.path}/party_1_north_1/flower/node.toml"


def test_what_may_not_end_is_started_again_even_if_it_ended_well(folder: FederationFolder, environment: Path) -> None:
    (environment / "bin" / "treetop-flower").write_text("#!/bin/sh\nexit 0\n")
    carrier = FlowerCarrier(environment)
    carrier.prepare(folder, {"north/1": "http://127.0.0.1:4001", "süd": "http://127.0.0.1:4002"})
    with Processes(lambda _: None) as processes:
        carrier.start(processes)
        for process in processes.all:
            process.process.wait(60)
        processes.revive()
        assert [process.starts for process in processes.all] == [2, 2, 2, 2]
