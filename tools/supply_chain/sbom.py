"""Writes requirements/sbom.json, a CycloneDX list of all that the locks name: `make sbom`.

It has no time and no serial number, so the same locks give the same bytes. Licences are those that packages state about
themselves. They are read from what is installed; of a package that is not, for other machines, another Python or other
tasks, what the list already says stays.
"""

import json
import tomllib
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, metadata
from typing import Any

from tools.supply_chain.locks import LOCKS, REQUIREMENTS, ROOT, Locked, locked

SBOM = REQUIREMENTS / "sbom.json"
_EXPRESSION = "License-Expression"
LONGEST_NAME = 80
"""Some packages state the whole text of their licence."""
SCOPES = {"party": "required", "runtime": "optional", "words": "optional"}
"""What the packages of a lock are for; those of the other locks are for Treetop's own checks alone."""


def bill() -> dict[str, Any]:
    """Return the bill of materials: what a party needs is required, what only our checks need is excluded."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    name, version = project["name"], project["version"]
    scopes: dict[str, tuple[Locked, str]] = {}
    for lock in LOCKS:
        for each in locked(lock):
            scopes.setdefault(each.pin, (each, SCOPES.get(lock, "excluded")))
    known = {each["purl"]: each.get("licenses", []) for each in json.loads(SBOM.read_text("utf-8"))["components"]}
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
        "components": [_component(each, scope, known) for each, scope in sorted(scopes.values())],
    }  # fmt: skip


def _component(package: Locked, scope: str, known: dict[str, list[dict[str, Any]]]) -> dict[str, Any]:
    purl = f"pkg:pypi/{package.name}@{package.version}"
    properties = [{"name": "treetop:lock:hashes", "value": lock_digest(package)}]
    if package.marker:
        properties.append({"name": "treetop:lock:marker", "value": package.marker})
    found = {
        "type": "library", "bom-ref": purl, "name": package.name, "version": package.version,
        "scope": scope, "purl": purl, "properties": properties,
    }  # fmt: skip
    licences = _licences(package) or known.get(purl)
    return found | ({"licenses": licences} if licences else {})


def lock_digest(package: Locked) -> str:
    """Return one digest for all files that the lock allows."""
    return sha256("\n".join(package.hashes).encode("ascii")).hexdigest()


def _licences(package: Locked) -> list[dict[str, Any]]:
    """Return what the installed package says of its licence, if it is this version."""
    try:
        told = metadata(package.name)
    except PackageNotFoundError:
        return []
    version, expression, licence = ("".join(told.get_all(key) or []) for key in ("Version", _EXPRESSION, "License"))
    if version != package.version:
        return []
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
