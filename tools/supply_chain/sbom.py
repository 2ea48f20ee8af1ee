"""Writes requirements/sbom.json, a CycloneDX list of all that Treetop installs: `make sbom`.

It is made of the locks alone, with no time and no serial number, so the same locks give the same bytes. Licences are
those that the installed packages state about themselves; a package for other machines has none here.
"""

import json
import sys
import tomllib
from hashlib import sha256
from importlib.metadata import distributions
from typing import Any

from tools.supply_chain.locks import LOCKS, REQUIREMENTS, ROOT, Locked, locked

SBOM = REQUIREMENTS / "sbom.json"
BRIDGE = "flower"
_EXPRESSION = "License-Expression"
LONGEST_NAME = 80
"""Some packages state the whole text of their licence."""


def bill() -> dict[str, Any]:
    """Return the bill of materials of what `make demo` and `make flower` install.

    What a party needs is marked as required; what only the bridge to Flower needs names its lock.
    """
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    name, version = project["name"], project["version"]
    needed = {each.pin for each in locked("party")}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application", "bom-ref": name, "name": name, "version": version,
                "purl": f"pkg:pypi/{name}@{version}", "licenses": [{"expression": "Apache-2.0"}],
            }
        },
        "components": [
            *(_component(each, each.pin in needed) for each in locked("runtime")),
            *(_component(each, False, BRIDGE) for each in only_in_the_bridge()),
        ],
    }  # fmt: skip


def only_in_the_bridge() -> list[Locked]:
    """Return what the bridge to Flower installs beyond the versions that Treetop itself is locked to."""
    known = {each.pin for each in locked("runtime")}
    return [each for each in locked(BRIDGE) if each.pin not in known]


def _component(package: Locked, needed: bool, lock: str = "") -> dict[str, Any]:
    purl = f"pkg:pypi/{package.name}@{package.version}"
    properties = [{"name": "treetop:lock:hashes", "value": lock_digest(package)}]
    if lock:
        properties.append({"name": "treetop:lock", "value": str(LOCKS[lock].relative_to(ROOT))})
    if package.marker:
        properties.append({"name": "treetop:lock:marker", "value": package.marker})
    found = {
        "type": "library", "bom-ref": purl, "name": package.name, "version": package.version,
        "scope": "required" if needed else "optional", "purl": purl, "properties": properties,
    }  # fmt: skip
    licences = _licences(package)
    return found | ({"licenses": licences} if licences else {})


def lock_digest(package: Locked) -> str:
    """Return one digest for all files that the lock allows."""
    return sha256("\n".join(package.hashes).encode("ascii")).hexdigest()


def _licences(package: Locked) -> list[dict[str, Any]]:
    """Return what the installed package says of its licence, if it is this version."""
    places = [*sys.path, *map(str, ROOT.glob(".venv-flower/lib/python*/site-packages"))]
    installed = [each.metadata for each in distributions(name=package.name, path=places)]
    told = next((each for each in installed if each["Version"] == package.version), None)
    if told is None:
        return []
    expression, licence = ("".join(told.get_all(key) or []) for key in (_EXPRESSION, "License"))
    if expression:
        return [{"expression": expression}]
    classifiers = sorted(
        each.rpartition(" :: ")[2] for each in told.get_all("Classifier") or [] if each.startswith("License :: ")
    )
    stated = " ".join(licence.split())
    names = classifiers or ([stated] if 0 < len(stated) <= LONGEST_NAME else [])
    return [{"license": {"name": name}} for name in names]


def written(content: dict[str, Any]) -> str:
    """Return the text of the file."""
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    SBOM.write_text(written(bill()), "utf-8")
