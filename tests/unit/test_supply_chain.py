"""What is installed is listed and locked."""

import re
from collections.abc import Mapping
from importlib.metadata import distributions
from typing import Any

from tools.supply_chain import sbom
from tools.supply_chain.locks import LOCKS, REQUIREMENTS, ROOT, all_pins, locked

KEPT = sbom.bill()


def facts(component: Mapping[str, Any]) -> tuple[str, str, str, str]:
    told = {each["name"]: each["value"] for each in component["properties"]}
    return (
        component["name"], component["version"], told["treetop:lock:hashes"], told.get("treetop:lock:marker", "")
    )  # fmt: skip


def test_the_bill_of_materials_is_the_locks_both_ways() -> None:
    in_lock = {(each.name, each.version, sbom.lock_digest(each), each.marker) for each in locked("runtime")}
    assert in_lock <= {facts(each) for each in KEPT["components"]}
    scopes = {f"{each['name']}=={each['version']}": each["scope"] for each in KEPT["components"]}
    assert scopes.keys() == all_pins()
    assert len(scopes) == len(KEPT["components"])
    used = {each.pin for name in ("runtime", "words", "flower") for each in locked(name)}
    needed = {each.pin for each in locked("party")}
    assert {pin for pin, scope in scopes.items() if scope == "required"} == needed
    assert {pin for pin, scope in scopes.items() if scope == "optional"} == used - needed


def test_the_bill_of_materials_is_the_same_bytes_each_time() -> None:
    written = sbom.written(KEPT)
    assert written == sbom.written(sbom.bill())
    assert "serialNumber" not in written
    assert "timestamp" not in written
    assert "://" not in written


def test_every_package_that_a_party_needs_here_states_its_licence() -> None:
    installed = {(re.sub(r"[-_.]+", "-", each.name).lower(), each.version) for each in distributions()}
    here = [each for each in KEPT["components"] if (each["name"], each["version"]) in installed]
    required = [each for each in here if each["scope"] == "required"]
    assert len(required) > 20
    assert [each["purl"] for each in required if not each.get("licenses")] == []


def test_the_bill_of_materials_has_the_shape_that_readers_expect() -> None:
    assert (KEPT["bomFormat"], KEPT["specVersion"]) == ("CycloneDX", "1.6")
    references = [each["bom-ref"] for each in KEPT["components"]]
    assert len(set(references)) == len(references)
    assert all(each["purl"] == f"pkg:pypi/{each['name']}@{each['version']}" for each in KEPT["components"])


def test_locks_agree_with_each_other() -> None:
    runtime = {each.pin for each in locked("runtime")}
    assert {each.pin for each in locked("party")} <= runtime
    dev = {each.pin for each in locked("dev")}
    assert runtime <= dev
    named = {pin.partition("==")[0] for pin in dev}
    assert {each.pin for each in locked("words") if each.name in named} <= dev
    there = {*REQUIREMENTS.glob("*.txt"), *(ROOT / "bridges").glob("*/requirements*.txt")}
    assert set(LOCKS.values()) == there
    assert not any("://" in path.read_text() for path in there)
