"""What is shipped for operators: container, compose, Kubernetes, systemd, board and alerts say what the code does."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from treetop.federation.wire.uploads import ReportStatus
from treetop.services.party.settings import PartySettings
from treetop.services.server.settings import ServerSettings
from treetop.toml_files import read_toml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
SECRETS = (
    "NORTH_TICKET_SECRET", "NORTH_SERVER_KEY", "NORTH_BACK_END_KEY", "NORTH_METRICS_KEY", "ADMIN_KEY",
    "TREETOP_TICKET_SECRET", "TREETOP_SERVER_KEY", "TREETOP_BACK_END_KEY", "TREETOP_METRICS_KEY",
)  # fmt: skip
STORES = ("NORTH_STORE", "TREETOP_STORE")
ENVIRONMENT = dict.fromkeys(SECRETS, "0123456789abcdef" * 4) | dict.fromkeys(
    STORES, "postgresql://u:p@database/treetop"
)
_METRIC = re.compile(r"\btreetop_[a-z_]+")
_VERDICT = re.compile(r'verdict\s*[!=]~?\s*"([^"]+)"')


def emitted() -> dict[str, set[str]]:
    """Return every metric that some line of the code makes, and its labels."""
    found: dict[str, set[str]] = {}
    for file in (ROOT / "src").rglob("*.py"):
        for call in (node for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.Call)):
            words = [each.value for each in call.args if isinstance(each, ast.Constant) and isinstance(each.value, str)]
            kind = getattr(call.func, "id", "")
            if kind in {"counter", "gauge"} and words:
                found[f"treetop_{words[0]}" + "_total" * (kind == "counter")] = set(words[2:])
            elif kind == "SummaryMetricFamily":
                found |= {f"{words[0]}_{part}": set() for part in ("sum", "count")}
    return found


def expressions() -> Iterator[str]:
    rules = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text())
    yield from (rule["expr"] for group in rules["groups"] for rule in group["rules"])
    board = json.loads((DEPLOY / "monitoring" / "grafana.json").read_text())
    yield from (target["expr"] for panel in board["panels"] for target in panel["targets"])


def test_every_metric_of_board_and_alerts_is_emitted() -> None:
    known = emitted()
    assert {"treetop_verdicts_total", "treetop_commit_seconds_sum", "treetop_queries"} <= known.keys()
    for expression in expressions():
        names = _METRIC.findall(expression)
        assert names, expression
        assert set(names) <= known.keys(), expression
        labels = set().union(*(known[name] for name in names)) | {"instance"}
        used = re.findall(r"by \(([^)]*)\)", expression) + re.findall(r"\{(\w+)", expression)
        assert {label.strip() for part in used for label in part.split(",")} <= labels, expression
        verdicts = {verdict for part in _VERDICT.findall(expression) for verdict in part.split("|")}
        assert verdicts <= set(ReportStatus), expression


def test_alerts_say_what_is_wrong() -> None:
    rules = yaml.safe_load((DEPLOY / "monitoring" / "alerts.yaml").read_text())["groups"][0]["rules"]
    assert len({rule["alert"] for rule in rules}) == len(rules)
    page = (ROOT / "docs" / "how_to" / "watch_a_federation.md").read_text()
    for rule in rules:
        assert rule["labels"]["severity"] in {"page", "warn"}
        assert rule["annotations"]["summary"]
        assert rule["alert"] in page


def manifests() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all((DEPLOY / "kubernetes" / "party.yaml").read_text()))


def test_kubernetes_manifests_are_valid_and_hardened() -> None:
    for manifest in manifests():
        kubernetes_validate.validate(manifest, "1.31", strict=True)
    sets = [manifest for manifest in manifests() if manifest["kind"] == "StatefulSet"]
    roles = []
    for manifest in sets:
        pod = manifest["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert pod["securityContext"]["runAsNonRoot"]
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        }  # fmt: skip
        roles.append((container["args"][2], manifest["spec"]["replicas"]))
        selected, labels = (
            manifest["spec"]["selector"]["matchLabels"],
            manifest["spec"]["template"]["metadata"]["labels"],
        )
        assert selected == labels
    assert roles == [("coordinator", 1), ("intake", 3)]


def test_settings_of_every_sample_deployment_are_understood(tmp_path: Path) -> None:
    text = next(each for each in manifests() if each["kind"] == "ConfigMap")["data"]["party.toml"]
    (tmp_path / "party.toml").write_text(text)
    assert str(read_toml(tmp_path / "party.toml", PartySettings, ENVIRONMENT).reports) == "s3://treetop-north/reports"
    compose = DEPLOY / "compose"
    party = read_toml(compose / "north.toml", PartySettings, ENVIRONMENT)
    server = read_toml(compose / "server.toml", ServerSettings, ENVIRONMENT)
    assert [each.name for each in server.parties] == [party.name]


def test_the_compose_file_names_what_is_there() -> None:
    compose = yaml.safe_load((DEPLOY / "compose" / "compose.yaml").read_text())
    commands = {name: service.get("command", []) for name, service in compose["services"].items()}
    assert sum("coordinator" in command for command in commands.values()) == 1
    assert sum("intake" in command for command in commands.values()) == 2
    for service in compose["services"].values():
        assert ":" in service["image"], "an image without a version is another one tomorrow"
        assert not service["image"].endswith(":latest")
        for volume in service.get("volumes", []):
            source = volume.partition(":")[0]
            there = source in compose["volumes"] or (DEPLOY / "compose" / source).exists()
            assert there or source == "./tls", volume
        if service["image"].startswith("treetop:"):
            assert service["read_only"]
            assert service["cap_drop"] == ["ALL"]


def test_the_container_file_keeps_our_own_rules() -> None:
    """What no linter knows of: nothing is downloaded, nobody is root, and both stages have one base."""
    text = (DEPLOY / "container" / "Containerfile").read_text().replace("\\\n", " ")
    lines = [line.split(None, 1) for line in text.splitlines() if line.strip() and not line.startswith("#")]
    bases = [rest.split()[0] for word, rest in lines if word == "FROM"]
    assert len(set(bases)) == 1
    assert re.fullmatch(r"[a-z]+:\d+\.\d+\.\d+[a-z-]*", bases[0]), "the base image has a version"
    words = [word for word, _ in lines]
    assert set(words) <= {"FROM", "COPY", "RUN", "ENV", "USER", "WORKDIR", "EXPOSE", "STOPSIGNAL", "ENTRYPOINT", "CMD"}
    assert words.index("USER") > max(place for place, word in enumerate(words) if word == "RUN")
    user, group = dict(lines)["USER"].split(":")
    assert int(user) > 0 < int(group)
    runs = " ".join(rest for word, rest in lines if word == "RUN")
    assert runs.count("pip install") == runs.count("--no-index") == 2
    assert not re.search(r"\b(curl|wget|apt|apt-get|sudo)\b", text)
    for word, rest in lines:
        if word == "COPY" and not rest.startswith(("wheels", "--from=")):
            assert (ROOT / rest.split()[0]).exists()
        if word in {"ENTRYPOINT", "CMD"}:
            assert json.loads(rest)


@pytest.mark.parametrize("unit", sorted((DEPLOY / "systemd").glob("*.service")), ids=lambda unit: unit.name)
def test_systemd_units_are_hardened_and_run_commands_that_exist(unit: Path) -> None:
    text = unit.read_text()
    hardened = ("NoNewPrivileges=true", "ProtectSystem=strict", "CapabilityBoundingSet=", "UMask=0077")
    for line in (*hardened, "SystemCallErrorNumber=EPERM"):  # without the last one `import numpy` is killed: mbind
        assert f"\n{line}\n" in text
    ((service, role, settings),) = re.findall(r"\nExecStart=\S+ (party|server)( --role \S+)? --settings (\S+)", text)
    assert f"treetop {service} check --settings {settings}" in text
    assert role.strip() in {"", "--role intake", "--role coordinator"}


def test_every_event_of_the_log_is_documented() -> None:
    page = (ROOT / "docs" / "reference" / "log_events.md").read_text()
    said = set()
    for file in (ROOT / "src").rglob("*.py"):
        if "cli" not in file.parts and "device" not in file.parts:
            said |= set(re.findall(r'\.(?:_?say|client|failure)\(\s*"([a-z_]+)"', file.read_text()))
    assert {"listening", "query_paused", "internal_error", "library"} <= said
    assert said == set(re.findall(r"^\| `([a-z_]+)` \|", page, re.MULTILINE))
