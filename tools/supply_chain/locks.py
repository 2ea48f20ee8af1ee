"""The locked requirements: which version of which package, for which machines, with which hashes."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
REQUIREMENTS = ROOT / "requirements"
LOCKS = {
    **{name: REQUIREMENTS / f"{name}.txt" for name in ("party", "runtime", "words")},
    "flower": ROOT / "bridges" / "flower" / "requirements.txt",
    **{name: REQUIREMENTS / f"{name}.txt" for name in ("dev", "moto", "bench", "audit")},
}
"""What a deployed party needs, what all of Treetop needs, the public word lists, the bridge to Flower, which lives in
an environment of its own, and what only Treetop's own checks need."""
_PINNED = re.compile(r"(?P<name>[\w.\-]+)(\[[\w,\-]+\])?==(?P<version>[^\s;\\]+)(\s*;\s*(?P<marker>[^\\]+?))?\s*(\\|$)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


@dataclass(frozen=True, order=True)
class Locked:
    """One line of a lock."""

    name: str
    version: str
    marker: str
    """Which machines it is for; empty for all."""
    hashes: tuple[str, ...]

    @property
    def pin(self) -> str:
        """Return name and version as pip writes them."""
        return f"{self.name}=={self.version}"


def locked(name: str) -> list[Locked]:
    """Return what a lock holds, in order; whatever is not pinned by hash is refused."""
    found = []
    for line in re.split(r"\n(?=\S)", LOCKS[name].read_text("utf-8").strip()):
        pinned, hashes = _PINNED.match(line), tuple(sorted(_HASH.findall(line)))
        if pinned is None or not hashes:
            raise ValueError(
                f"{LOCKS[name].relative_to(ROOT)}: expected name==version with hashes, found {line[:60]!r}"
            )
        normal = re.sub(r"[-_.]+", "-", pinned["name"]).lower()
        found.append(Locked(normal, pinned["version"], pinned["marker"] or "", hashes))
    return sorted(found)


def all_pins() -> set[str]:
    """Return every version that any lock names."""
    return {each.pin for name in LOCKS for each in locked(name)}
