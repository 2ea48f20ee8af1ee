"""Writes build/sbom.json, a CycloneDX list of all that the locks name: `make sbom`.

It has no time and no serial number, so the same locks in the same environments give the same bytes. Licences are those
that packages state about themselves, where they are installed in one of the project's environments; a package for other
machines or another Python is listed without one.
"""

import json
import sys
import tomllib
from hashlib import sha256
from importlib.metadata import distributions
from typing import Any

from tools.supply_chain.locks import LOCKS, ROOT, Locked, locked

from treetop.whole_files import write_whole

SBOM = ROOT / "build" / "sbom.json"
_EXPRESSION = "License-Expression"
LONGEST_NAME = 80
"""Some packages state the whole text of their licence."""
SCOPES = {"party": "required", "runtime": "optional", "words": "optional", "flower": "optional"}
"""What the packages of a lock are for; those of the other locks are for Treetop's own checks alone."""


def bill() -> dict[str, Any]:
    """Return the bill of materials: what a party needs is required, what only our checks need is excluded."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    name, version = project["name"], project["version"]
    first: dict[str, tuple[Locked, str]] = {}
    for lock in LOCKS:
        for each in locked(lock):
            first.setdefault(each.pin, (each, lock))
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
        "components": [_component(each, lock) for each, lock in sorted(first.values())],
    }  # fmt: skip


def _component(package: Locked, lock: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{package.name}@{package.version}"
    properties = [
        {"name": "treetop:lock", "value": lock},
        {"name": "treetop:lock:hashes", "value": lock_digest(package)},
    ]
    if package.marker:
        properties.append({"name": "treetop:lock:marker", "value": package.marker})
    found = {
        "type": "library", "bom-ref": purl, "name": package.name, "version": package.version,
        "scope": SCOPES.get(lock, "excluded"), "purl": purl, "properties": properties,
    }  # fmt: skip
    licences = _licences(package)
    return found | ({"licenses": licences} if licences else {})


def lock_digest(package: Locked) -> str:
    """Return one digest for all files that the lock allows."""
    return sha256("\n".join(package.hashes).encode("ascii")).hexdigest()


def _licences(package: Locked) -> list[dict[str, Any]]:
    """Return what the installed package says of its licence, if it is this version."""
    places = [*sys.path, *map(str, ROOT.glob(".venv-*/lib/python*/site-packages"))]
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
    SBOM.parent.mkdir(exist_ok=True)
    write_whole(SBOM, written(bill()).encode("utf-8"))
    print(SBOM.relative_to(ROOT))
