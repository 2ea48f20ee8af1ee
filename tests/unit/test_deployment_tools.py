"""What is shipped for operators, as the tools of others see it: hadolint, promtool, systemd, the schema of compose."""

import re
from http.client import HTTPConnection
from pathlib import Path

import pytest
import yaml
from tests.support.parties import METRICS_KEY, Hosted, document, honest_entry, live, served, task
from tests.support.servers import HostedServer
from tests.support.tools import told_by
from tests.unit.test_deployment import DEPLOY, expressions

from treetop.federation.wire.uploads import encoded_upload
from treetop.services.server.app import server_app

ALERTS = DEPLOY / "monitoring" / "alerts.yaml"
ALERT_TESTS = DEPLOY / "monitoring" / "alerts_test.yaml"
CONTAINER = DEPLOY / "container" / "Containerfile"
COMPOSE = DEPLOY / "compose" / "compose.yaml"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))


def metrics(port: int) -> str:
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {METRICS_KEY}"})
    text = connection.getresponse().read().decode()
    connection.close()
    return text


@pytest.fixture(scope="module")
def emitted() -> dict[str, str]:
    """What a party that took a report, and a server, tell Prometheus over their sockets."""
    hosted, of = Hosted(), task()
    hosted.party.install(document(of))
    with live(hosted.context) as port:
        connection = HTTPConnection("127.0.0.1", port, timeout=60)
        connection.request("POST", f"/v1/tasks/{of.digest.hex()}/reports", encoded_upload([honest_entry(of, 1)]))
        assert connection.getresponse().status == 200
        connection.close()
        party = metrics(port)
    with served(server_app(HostedServer().context)) as port:
        return {"party": party, "server": metrics(port)}


@pytest.mark.parametrize("service", ["party", "server"])
def test_promtool_finds_nothing_in_what_services_emit(emitted: dict[str, str], service: str) -> None:
    assert told_by("promtool", "check", "metrics", sent=emitted[service]) == (0, "")


def test_services_emit_every_metric_of_board_and_alerts(emitted: dict[str, str]) -> None:
    families = re.findall(r"^# TYPE (\S+) (\S+)$", "\n".join(emitted.values()), re.MULTILINE)
    names = {name for name, _ in families}
    names |= {f"{name}_{part}" for name, kind in families if kind == "summary" for part in ("sum", "count")}
    for expression in expressions():
        assert set(re.findall(r"\btreetop_[a-z_]+", expression)) <= names, expression


def test_promtool_understands_the_alerts() -> None:
    status, said = told_by("promtool", "check", "rules", ALERTS)
    assert status == 0, said
    assert f"SUCCESS: {len(rules())} rules found" in said


def test_every_alert_fires_when_it_should_and_not_when_it_should_not() -> None:
    status, said = told_by("promtool", "test", "rules", ALERT_TESTS)
    assert status == 0, said


def test_alerts_that_never_fire_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / ALERT_TESTS.name).write_text(ALERT_TESTS.read_text())
    for rule in rules():
        broken = ALERTS.read_text().replace(rule["expr"], f"({rule['expr']}) and vector(0) > 1")
        (tmp_path / ALERTS.name).write_text(broken)
        status, said = told_by("promtool", "test", "rules", tmp_path / ALERT_TESTS.name)
        assert status == 1, rule["alert"]
        assert rule["alert"] in said


def test_every_alert_is_tested_both_ways() -> None:
    cases = [case for test in yaml.safe_load(ALERT_TESTS.read_text())["tests"] for case in test["alert_rule_test"]]
    for fires in (True, False):
        assert {case["alertname"] for case in cases if bool(case.get("exp_alerts")) is fires} == {
            rule["alert"] for rule in rules()
        }


def rules() -> list[dict[str, str]]:
    found: list[dict[str, str]] = yaml.safe_load(ALERTS.read_text())["groups"][0]["rules"]
    return found


def test_hadolint_finds_nothing_in_the_container_file() -> None:
    assert told_by("hadolint", "--no-color", CONTAINER) == (0, "")
    careless = CONTAINER.read_text().replace(":3.11.14-slim-bookworm", "", 1)
    status, said = told_by("hadolint", "--no-color", "-", sent=careless)
    assert status == 1
    assert "DL3006" in said


def test_the_compose_file_is_of_its_schema(tmp_path: Path) -> None:
    schema = ("--builtin-schema", "vendor.compose-spec")
    status, said = told_by("check-jsonschema", *schema, COMPOSE)
    assert status == 0, said
    (tmp_path / "compose.yaml").write_text(COMPOSE.read_text().replace("restart:", "restrat:"))
    assert told_by("check-jsonschema", *schema, tmp_path / "compose.yaml")[0] == 1


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_systemd_understands_every_line_of_a_unit(unit: Path, tmp_path: Path) -> None:
    there = tmp_path / unit.name.replace("@", "@1")
    there.write_text(unit.read_text().replace("/opt/treetop/bin/treetop", "/bin/true"))
    assert told_by("systemd-analyze", "verify", there) == (0, "")
    there.write_text(there.read_text().replace("ProtectSystem=strict", "ProtectSystem=stirct"))
    assert "stirct" in told_by("systemd-analyze", "verify", there)[1]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_as_little_exposed_as_the_manual_says(unit: Path) -> None:
    status, said = told_by("systemd-analyze", "security", "--offline=true", "--no-pager", unit)
    if status and ("unrecognized option" in said or "Unknown" in said):
        pytest.skip("systemd-analyze cannot look at files")
    manual = (DEPLOY.parent / "docs" / "how_to" / "run_with_systemd.md").read_text()
    ((level,), (told,)) = (re.findall(pattern, text) for pattern, text in (
        (r"exposure level for \S+: (\S+)", said), (r"`systemd-analyze security`: (\S+)\)", manual),
    ))  # fmt: skip
    assert float(level) <= float(told)
